// Text in XML.
#pragma once

#include <string>

namespace compatcheck::report {

// Control characters and broken UTF-8 can't stand in XML at all: printable() spells them out, but for two code points that XML
// forbids.
std::string xml(const std::string& text);

}  // namespace compatcheck::report

// Text in XML.
#pragma once

#include <string>

namespace compatcheck::report {

// XML can't contain control characters and broken UTF-8: printable() escapes them, except two code points that XML forbids.
std::string xml(const std::string& text);

}  // namespace compatcheck::report

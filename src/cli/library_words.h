// The library's messages name options by their fields: "CheckOptions::inputs". On the command line these are flags.
#pragma once

#include <string>
#include <string_view>

namespace compatcheck::cli {

// The text with flags in place of fields: "--input".
std::string with_flags(std::string_view text);

}  // namespace compatcheck::cli

// Text of a model or a file, as a terminal or log may show it.
#pragma once

#include <string>
#include <string_view>

namespace compatcheck {

// On one line: control characters (C0, DEL, C1) and bytes that are no UTF-8 spelled out, as \n, \t, \x1b, \u009b.
std::string printable(std::string_view text);

// Line by line: newlines stay.
std::string printable_lines(std::string_view text);

}  // namespace compatcheck

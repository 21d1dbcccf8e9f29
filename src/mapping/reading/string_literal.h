// Bytes as a string literal of C++, in lines that a compiler takes.
#pragma once

#include <cstdio>
#include <ostream>
#include <string_view>

namespace compatcheck::mapping {

inline void write_literal(std::ostream& out, std::string_view bytes) {
  constexpr std::size_t line = 96;
  char escaped[8];
  for (std::size_t i = 0; i < bytes.size(); i += line) {
    out << "  \"";
    for (const char c : bytes.substr(i, line)) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\' && byte != '?') {
        out << c;
      } else {
        std::snprintf(escaped, sizeof escaped, "\\%03o", byte);
        out << escaped;
      }
    }
    out << "\"\n";
  }
}

}  // namespace compatcheck::mapping

#include "compatcheck/printable.h"

#include <cstdint>

namespace compatcheck {
namespace {

// Bytes of the UTF-8 character that the text begins with; 0 if it begins with none. Source: RFC 3629, section 4.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<std::uint8_t>(text[at]) : std::uint8_t{0}; };
  const auto continues = [&](std::size_t at) { return (byte(at) & 0xc0) == 0x80; };
  const std::uint8_t first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if ((first & 0xf0) == 0xe0) {
    const bool overlong = first == 0xe0 && second < 0xa0, surrogate = first == 0xed && second >= 0xa0;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first < 0xf0 || first > 0xf4 || !continues(1) || !continues(2) || !continues(3)) return 0;
  return (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90) ? 0 : 4;
}

std::string hexadecimal(std::uint8_t byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  return {digits[byte >> 4], digits[byte & 0xf]};
}

std::string spell(std::uint8_t byte) {
  if (byte == '\n') return "\\n";
  if (byte == '\r') return "\\r";
  if (byte == '\t') return "\\t";
  return "\\x" + hexadecimal(byte);
}

bool is_control(std::uint8_t byte) { return byte < 0x20 || byte == 0x7f; }

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<std::uint8_t>(text[0]);
    if (length == 0 || is_control(first))
      shown += spell(first);
    else if (first == 0xc2 && static_cast<std::uint8_t>(text[1]) < 0xa0)
      shown += "\\u00" + hexadecimal(static_cast<std::uint8_t>(text[1]));
    else
      shown += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return shown;
}

std::string printable_lines(std::string_view text) {
  std::string shown;
  for (;;) {
    const auto end = text.find('\n');
    shown += printable(text.substr(0, end));
    if (end == text.npos) return shown;
    shown += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace compatcheck

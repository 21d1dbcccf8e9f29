#include "report/style.h"

#include <algorithm>

namespace compatcheck::report {
namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

std::string_view code(Color color) {
  switch (color) {
    case Color::red: return "\x1b[31m";
    case Color::magenta: return "\x1b[35m";  // yellow can't be read on white
    case Color::green: return "\x1b[32m";
    case Color::cyan: return "\x1b[36m";
    case Color::dim: return "\x1b[2m";
    case Color::bold: return "\x1b[1m";
  }
  return {};
}

}  // namespace

std::string Style::operator()(Color color, std::string_view text) const {
  if (!color_ || text.empty()) return std::string(text);
  return std::string(code(color)) + std::string(text) + "\x1b[0m";
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  bool escape = false;
  for (const char byte : text) {
    if (byte == '\x1b')
      escape = true;
    else if (escape)
      escape = byte != 'm';
    else if (!continues(byte))
      ++count;
  }
  return count;
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = columns(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = columns(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}

std::string fit(std::string_view text, std::size_t width) {
  if (columns(text) <= width || width == 0) return std::string(text);
  std::size_t end = 0, used = 0;
  while (end < text.size()) {
    std::size_t next = end + 1;
    while (next < text.size() && continues(text[next])) ++next;
    if (used + 2 > width) break;  // one column is reserved for the ellipsis
    end = next;
    ++used;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string number(long long value) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return (value < 0 ? "-" : "") + digits;
}

std::string count(long long value, std::string_view singular) {
  return number(value) + " " + std::string(singular) + (value == 1 ? "" : "s");
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string lines;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    const std::size_t length = columns(word);
    if (used > 0 && used + 1 + length > width) {
      lines += "\n" + std::string(indent, ' ');
      used = 0;
    } else if (used > 0) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += length;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return lines;
}

}  // namespace compatcheck::report

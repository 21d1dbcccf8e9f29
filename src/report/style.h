// Colours, columns and numbers of the text reports.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace compatcheck::report {

enum class Color { red, magenta, green, cyan, dim, bold };

// Wraps text in the terminal's codes; does nothing where colors are off.
class Style {
 public:
  explicit Style(bool color) : color_(color) {}
  std::string operator()(Color color, std::string_view text) const;

 private:
  bool color_;
};

std::size_t columns(std::string_view text);  // width of UTF-8 text; color codes don't count
std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);
std::string fit(std::string_view text, std::size_t width);      // cut with "…" if longer
std::string number(long long value);                            // "1,204"
std::string count(long long value, std::string_view singular);  // "1 node", "1,204 nodes"
// Lines of at most `width` columns, broken at spaces, all but the first behind `indent` spaces.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace compatcheck::report

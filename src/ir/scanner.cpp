#include "ir/scanner.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "compatcheck/error.h"
#include "compatcheck/printable.h"

namespace compatcheck::ir {
namespace {

constexpr int deepest_block = 400;  // a long elif chain nests one block a branch
constexpr std::size_t max_quoted_line = 160;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_value_name(char c) { return is_word(c) || c == '.' || c == '/' || c == '-' || c == '$' || c == '@'; }

// From 0x80 to 0xbf: within a UTF-8 character.
bool continues_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) count += continues_character(text, i) ? 0 : 1;
  return count;
}

// The part of the line around the column, and where the caret goes under it.
std::string with_caret(std::string line, std::size_t column) {
  std::replace(line.begin(), line.end(), '\t', ' ');
  std::size_t from = 0;
  if (line.size() > max_quoted_line && column > max_quoted_line / 2) from = column - max_quoted_line / 2;
  for (int i = 0; i < 3 && from > 0 && continues_character(line, from); ++i) --from;
  std::size_t to = std::min(line.size(), from + max_quoted_line);
  for (int i = 0; i < 3 && continues_character(line, to); ++i) ++to;
  while (to > from && is_space(line[to - 1])) --to;
  const std::string before = printable(std::string_view(line).substr(from, column - from));
  return printable(std::string_view(line).substr(from, to - from)) + '\n' + std::string(characters(before), ' ') + '^';
}

}  // namespace

void Scanner::skip_space() {
  while (position_ < text_.size()) {
    if (is_space(text_[position_]))
      ++position_;
    else if (text_[position_] == '#')
      position_ = std::min(text_.find('\n', position_), text_.size());
    else
      return;
  }
}

char Scanner::peek() {
  skip_space();
  return raw_peek();
}

bool Scanner::at_end() {
  skip_space();
  return position_ >= text_.size();
}

bool Scanner::looking_at(std::string_view token) {
  skip_space();
  if (!raw_rest().starts_with(token)) return false;
  // A word isn't the beginning of a longer word.
  const std::size_t after = position_ + token.size();
  return !is_word(token.back()) || after >= text_.size() || !is_word(text_[after]);
}

bool Scanner::accept(std::string_view token) {
  if (!looking_at(token)) return false;
  position_ += token.size();
  return true;
}

void Scanner::expect(std::string_view token, std::string_view where) {
  if (accept(token)) return;
  std::string what = '\'' + std::string(token) + '\'';
  if (!where.empty()) what += ' ' + std::string(where);
  fail_expected(what);
}

std::string_view Scanner::identifier() {
  skip_space();
  const std::size_t from = position_;
  if (is_digit(raw_peek())) return {};
  while (is_word(raw_peek()) ||
         (position_ > from && raw_peek() == '.' && position_ + 1 < text_.size() && is_word(text_[position_ + 1])))
    ++position_;
  return text_.substr(from, position_ - from);
}

// "%onnx::Conv_12 : Float" holds two colons in the name and one that ends it.
std::string_view Scanner::value_name() {
  const std::size_t from = position_;
  while (position_ < text_.size()) {
    if (is_value_name(raw_peek())) {
      if (raw_peek() == '-' && raw_rest().starts_with("->")) break;
      ++position_;
    } else if (raw_rest().starts_with("::") && position_ + 2 < text_.size() && is_value_name(text_[position_ + 2])) {
      position_ += 2;
    } else {
      break;
    }
  }
  return text_.substr(from, position_ - from);
}

std::string Scanner::string() {
  const char quote = peek();
  const std::size_t from = position_++;
  std::string out;
  while (raw_peek() != quote) {
    if (position_ >= text_.size() || raw_peek() == '\n') fail_at(from, "this string doesn't end on its line");
    if (raw_peek() != '\\') {
      out += text_[position_++];
      continue;
    }
    ++position_;
    const char escaped = raw_peek();
    if (escaped >= '0' && escaped <= '7') {
      int code = 0;
      for (int digits = 0; digits < 3 && raw_peek() >= '0' && raw_peek() <= '7'; ++digits)
        code = code * 8 + (text_[position_++] - '0');
      out += static_cast<char>(code);
      continue;
    }
    constexpr std::string_view letters = "abfnrtv", meanings = "\a\b\f\n\r\t\v";
    const std::size_t at = letters.find(escaped);
    if (position_ < text_.size()) out += at == std::string_view::npos ? escaped : meanings[at];
    ++position_;
  }
  ++position_;
  return out;
}

std::optional<std::variant<std::int64_t, double>> Scanner::number() { return number_up_to(0x1p63); }
std::optional<std::variant<std::int64_t, double>> Scanner::element() { return number_up_to(0x1p64); }

std::optional<std::variant<std::int64_t, double>> Scanner::number_up_to(double largest_integer) {
  skip_space();
  const std::size_t from = position_;
  const bool negative = raw_peek() == '-';
  if (negative || raw_peek() == '+') ++position_;
  if (looking_at("inf") || looking_at("nan")) {
    const bool infinite = raw_peek() == 'i';
    position_ += 3;
    const double value = infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return negative ? -value : value;
  }
  const std::size_t digits = position_;
  while (is_digit(raw_peek())) ++position_;
  bool real = false;
  if (raw_peek() == '.' && (position_ > digits || (position_ + 1 < text_.size() && is_digit(text_[position_ + 1])))) {
    real = true;
    ++position_;
    while (is_digit(raw_peek())) ++position_;
  }
  if (position_ == digits) {
    position_ = from;
    return std::nullopt;
  }
  if (raw_peek() == 'e' || raw_peek() == 'E') {
    std::size_t exponent = position_ + 1;
    if (exponent < text_.size() && (text_[exponent] == '-' || text_[exponent] == '+')) ++exponent;
    if (exponent < text_.size() && is_digit(text_[exponent])) {
      real = true;
      position_ = exponent;
      while (is_digit(raw_peek())) ++position_;
    }
  }
  const std::string_view spelled = text_.substr(negative ? from : digits, position_ - (negative ? from : digits));
  if (!real) {
    std::int64_t value = 0;
    if (std::from_chars(spelled.data(), spelled.data() + spelled.size(), value).ec == std::errc()) return value;
  }
  double value = 0;
  if (std::from_chars(spelled.data(), spelled.data() + spelled.size(), value).ec == std::errc::result_out_of_range) {
    const bool tiny = spelled.find("e-") != std::string_view::npos || spelled.find("E-") != std::string_view::npos;
    value = tiny ? 0. : std::numeric_limits<double>::infinity();
    if (negative) value = -value;
  }
  const bool held = largest_integer > 0x1p63 && (!raise_ || (value >= 0 && value <= largest_integer));
  if (!real && !held) fail_at(from, "an integer beyond 64 bits");
  return value;
}

std::string_view Scanner::raw_rest_of_line() const {
  const std::string_view rest = raw_rest();
  return rest.substr(0, std::min(rest.find('\n'), rest.size()));
}

void Scanner::fail_expected(std::string_view what) {
  skip_space();
  std::string found = "the end of the text";
  if (position_ < text_.size()) {
    std::size_t end = position_ + 1;
    if (is_word(raw_peek()))
      while (end < text_.size() && end < position_ + 40 && is_word(text_[end])) ++end;
    found = '\'' + std::string(text_.substr(position_, end - position_)) + '\'';
  }
  fail_at(position_, "expected " + std::string(what) + ", found " + found);
}

void Scanner::fail_at(std::size_t position, const std::string& message) const {
  position = std::min(position, text_.size());
  const std::string_view before = text_.substr(0, position);
  const std::size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const std::size_t end = std::min(text_.find('\n', position), text_.size());
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t column = position - begin;
  raise_({.reason = message,
          .position = position,
          .whole = printable(file_) + ':' + std::to_string(line) + ':' + std::to_string(column + 1) + ": " + printable(message) +
                   '\n' + with_caret(std::string(text_.substr(begin, end - begin)), column)});
  throw InternalError("a scanner's raise function returned");
}

Scanner::Nesting::Nesting(Scanner& scanner) : scanner_(scanner) {
  if (scanner_.depth_ >= deepest_block)
    scanner_.fail_at(scanner_.position_, "nested more than " + std::to_string(deepest_block) + " deep");
  ++scanner_.depth_;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    constexpr std::string_view special = "\\'\"\a\b\f\n\r\t\v", letters = "\\'\"abfnrtv";
    if (const std::size_t at = special.find(c); at != std::string_view::npos) {
      out += '\\';
      out += letters[at];
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '\\';
      for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + ((byte >> shift) & 7));
    }
  }
  return out + '"';
}

}  // namespace compatcheck::ir

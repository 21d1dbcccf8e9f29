#include "frontend/native/lexer.h"

#include <algorithm>
#include <cctype>

#include "compatcheck/error.h"

namespace compatcheck::frontend::native {
namespace {

constexpr std::size_t most_tokens = 8'000'000;

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

Lexer::Lexer(std::string_view code, const std::string& file, std::deque<std::string>& strings)
    : code_(code), file_(file), strings_(strings) {
  advance();
}

void Lexer::advance() {
  if (++tokens_ > most_tokens) fail("a code file of more than 8,000,000 words isn't read");
  current_ = next();
}

void Lexer::fail(const std::string& why) const {
  const std::size_t end = std::min(current_.start, code_.size());
  const auto line = 1 + std::count(code_.begin(), code_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  throw ModelError("line " + std::to_string(line) + " of " + file_ + ": " + why);
}

// Skips empty lines. Their indentation means nothing.
bool Lexer::begin_line() {
  std::size_t start = at_;
  for (;;) {
    while (peek() == ' ' || peek() == '\t') ++at_;
    if (peek() != '\n' && peek() != '\r' && peek() != '#') break;
    while (at_ < code_.size() && peek() != '\n') ++at_;
    if (at_ < code_.size()) ++at_;
    start = at_;
  }
  line_starts_ = false;
  const std::size_t depth = at_ < code_.size() ? at_ - start : 0;
  if (depth > indents_.back()) {
    indents_.push_back(depth);
    return true;
  }
  while (depth < indents_.back()) {
    indents_.pop_back();
    ++dedents_;
  }
  return dedents_ > 0;
}

Token Lexer::next() {
  if (line_starts_ && brackets_ == 0 && begin_line() && dedents_ == 0) return {Token::Kind::indent, at_, {}};
  if (dedents_ > 0) return --dedents_, Token{Token::Kind::dedent, at_, {}};
  for (;; ++at_) {
    if (peek() == '#')
      while (at_ < code_.size() && peek() != '\n') ++at_;
    if (at_ >= code_.size()) return {Token::Kind::end, at_, {}};
    const char c = peek();
    if (c == '\n' && brackets_ == 0) {
      line_starts_ = true;
      return {Token::Kind::newline, at_++, {}};
    }
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\\') break;
  }
  const std::size_t start = at_;
  const char c = peek();
  if (begins_name(c)) {
    while (begins_name(peek()) || is_digit(peek())) ++at_;
    return {Token::Kind::name, start, code_.substr(start, at_ - start)};
  }
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
  if (c == '"' || c == '\'') return quoted();
  at_ += c == '-' && peek(1) == '>' ? 2 : 1;
  if (c == '(' || c == '[' || c == '{') ++brackets_;
  if ((c == ')' || c == ']' || c == '}') && brackets_ > 0) --brackets_;
  return {Token::Kind::symbol, start, code_.substr(start, at_ - start)};
}

Token Lexer::number() {
  const std::size_t start = at_;
  Token::Kind kind = Token::Kind::integer;
  const auto digits = [&] {
    while (is_digit(peek())) ++at_;
  };
  digits();
  if (peek() == '.') kind = Token::Kind::floating, ++at_, digits();
  if ((peek() == 'e' || peek() == 'E') && (is_digit(peek(1)) || ((peek(1) == '-' || peek(1) == '+') && is_digit(peek(2))))) {
    kind = Token::Kind::floating;
    at_ += 2;
    digits();
  }
  const std::string_view text = code_.substr(start, at_ - start);
  if (peek() == 'j') kind = Token::Kind::imaginary, ++at_;
  return {kind, start, text};
}

Token Lexer::quoted() {
  const std::size_t start = at_;
  const char quote = code_[at_++];
  bool escapes = false;
  while (at_ < code_.size() && peek() != quote && peek() != '\n') {
    if (peek() == '\\') escapes = true, ++at_;
    ++at_;
  }
  if (at_ >= code_.size() || peek() != quote) {
    current_.start = start;
    fail("a string doesn't end");
  }
  const std::string_view raw = code_.substr(start + 1, at_++ - start - 1);
  if (!escapes) return {Token::Kind::text, start, raw};
  return {Token::Kind::text, start, strings_.emplace_back(unescaped(raw))};
}

// Source: torch/csrc/jit/frontend/parse_string_literal.h.
std::string Lexer::unescaped(std::string_view raw) const {
  constexpr std::string_view letters = "abfnrtv\\'\"", meant = "\a\b\f\n\r\t\v\\'\"";
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i];
      continue;
    }
    const char letter = raw[++i];
    if (const auto known = letters.find(letter); known != letters.npos) {
      text += meant[known];
    } else if (letter == 'x' || (letter >= '0' && letter <= '7')) {
      const bool hex = letter == 'x';
      if (hex) ++i;
      unsigned value = 0;
      const std::size_t end = std::min(i + (hex ? 2 : 3), raw.size());
      while (i < end && (hex ? std::isxdigit(static_cast<unsigned char>(raw[i])) != 0 : raw[i] >= '0' && raw[i] <= '7')) {
        const char digit = static_cast<char>(std::tolower(static_cast<unsigned char>(raw[i++])));
        value = value * (hex ? 16 : 8) + static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
      }
      --i;
      text += static_cast<char>(value);
    } else {
      text += '\\';
      text += letter;
    }
  }
  return text;
}

}  // namespace compatcheck::frontend::native

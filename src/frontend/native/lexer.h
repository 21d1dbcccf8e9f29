// Tokens of an archive's code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace compatcheck::frontend::native {

struct Token {
  enum class Kind : std::uint8_t {
    name,
    integer,
    floating,
    imaginary,
    text,
    symbol,
    newline,
    indent,
    dedent,
    end
  } kind = Kind::end;
  std::size_t start = 0;
  std::string_view text{};  // for a string: its contents
};

class Lexer {
 public:
  Lexer(std::string_view code, const std::string& file, std::deque<std::string>& strings);

  const Token& current() const { return current_; }
  void advance();
  // Throws ModelError that names the line of the current token.
  [[noreturn]] void fail(const std::string& why) const;

 private:
  Token next();
  bool begin_line();  // whether an indent or dedent is due
  Token number();
  Token quoted();
  std::string unescaped(std::string_view raw) const;
  char peek(std::size_t ahead = 0) const { return at_ + ahead < code_.size() ? code_[at_ + ahead] : '\0'; }

  std::string_view code_;
  const std::string& file_;
  std::deque<std::string>& strings_;
  std::size_t at_ = 0, brackets_ = 0, tokens_ = 0;
  std::vector<std::size_t> indents_{0};
  std::size_t dedents_ = 0;
  bool line_starts_ = true;
  Token current_;
};

}  // namespace compatcheck::frontend::native

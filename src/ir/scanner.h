// Reading a notation character by character, with errors that quote the line and point at the place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace compatcheck::ir {

// The error that stops reading.
struct Fault {
  std::string reason;        // "expected ')' after the inputs, found 'x'"
  std::size_t position = 0;  // offset in the text
  std::string whole;         // "file:line:column: reason", the line and a caret
};

// White space and `#` comments between tokens are skipped by everything but `raw` functions.
class Scanner {
 public:
  using Raise = void (*)(const Fault& fault);  // throws; what it throws is the caller's choice

  Scanner(std::string_view text, std::string_view file, Raise raise) : text_(text), file_(file), raise_(raise) {}

  char peek();  // '\0' at the end
  bool at_end();
  bool looking_at(std::string_view token);
  bool accept(std::string_view token);
  void expect(std::string_view token, std::string_view where);  // "expected ')' after the inputs, found …"

  std::string_view identifier();  // letters, digits, '_', '.', not starting with a digit; empty if none
  std::string_view value_name();  // the name after '%'; empty if none
  std::string string();           // "…" or '…', with escapes resolved
  bool at_string() { return peek() == '"' || peek() == '\''; }
  // Also inf and nan, signed. Nullopt, and nothing read, if there is no number; an integer beyond 64 bits is an error.
  std::optional<std::variant<std::int64_t, double>> number();
  // The same for an element of a printed tensor, where unsigned integers of 64 bits are doubles; without a function to raise
  // errors, all larger ones.
  std::optional<std::variant<std::int64_t, double>> element();

  // Without skipping anything first.
  std::string_view raw_rest_of_line() const;
  std::string_view raw_rest() const { return text_.substr(position_); }
  char raw_peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  void raw_advance(std::size_t count) { position_ += count; }

  std::size_t position() const { return position_; }
  void rewind(std::size_t position) { position_ = position; }
  void skip_space();

  // "file:line:column: expected WHAT, found 'x'", the line and a caret, at the next token.
  [[noreturn]] void fail_expected(std::string_view what);
  [[noreturn]] void fail_at(std::size_t position, const std::string& message) const;

  // Held while reading something nested, so that depth is an error before the stack is gone.
  class Nesting {
   public:
    explicit Nesting(Scanner& scanner);
    ~Nesting() { --scanner_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Scanner& scanner_;
  };

 private:
  std::optional<std::variant<std::int64_t, double>> number_up_to(double largest_integer);

  std::string_view text_;
  std::string_view file_;
  Raise raise_;
  std::size_t position_ = 0;
  int depth_ = 0;
};

// In double quotes, as TorchScript escapes: \n, \", octal for what doesn't print.
std::string quoted(std::string_view text);

}  // namespace compatcheck::ir

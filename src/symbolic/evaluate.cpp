#include "symbolic/evaluate.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <stdexcept>

namespace compatcheck::symbolic {
namespace {

struct NoValue {};  // a name without a size, or beyond 64 bits

template <class Operation>
std::int64_t checked(Operation operation) {
  std::int64_t made = 0;
  if (operation(&made)) throw NoValue{};
  return made;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// sum: product (('+' | '-') product)*; product: factor (('*' | '//') factor)*; factor: number, name, '-' factor, '(' sum ')',
// 'min(' sum ',' sum ')'.
class Expression {
 public:
  Expression(std::string text, const Sizes& sizes) : text_(std::move(text)), sizes_(sizes) {}

  std::int64_t value() {
    const std::int64_t result = sum();
    if (at_ != text_.size()) throw std::runtime_error("can't read " + text_);
    return result;
  }

 private:
  bool take(const std::string& token) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    return true;
  }
  std::int64_t sum() {
    std::int64_t result = product();
    for (;;) {
      const bool plus = take("+");
      if (!plus && !take("-")) return result;
      const std::int64_t other = product();
      result = checked([&](std::int64_t* made) {
        return plus ? __builtin_add_overflow(result, other, made) : __builtin_sub_overflow(result, other, made);
      });
    }
  }
  std::int64_t product() {
    std::int64_t result = factor();
    for (;;) {
      if (take("//")) {
        result = quotient(result, factor());
      } else if (take("*")) {
        const std::int64_t other = factor();
        result = checked([&](std::int64_t* made) { return __builtin_mul_overflow(result, other, made); });
      } else {
        return result;
      }
    }
  }
  static std::int64_t quotient(std::int64_t a, std::int64_t b) {
    if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) throw NoValue{};
    return floor_quotient(a, b);
  }
  std::int64_t factor() {
    if (take("-")) {
      const std::int64_t other = factor();
      return checked([&](std::int64_t* made) { return __builtin_sub_overflow(std::int64_t{0}, other, made); });
    }
    if (take("(")) {
      const std::int64_t inner = sum();
      if (!take(")")) throw std::runtime_error("no ) in " + text_);
      return inner;
    }
    std::string word;
    while (at_ < text_.size() && is_word(text_[at_])) word += text_[at_++];
    if (word.empty()) throw std::runtime_error("can't read " + text_);
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      std::int64_t number = 0;
      if (std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc()) throw NoValue{};
      return number;
    }
    if (word == "min" && take("(")) {
      const std::int64_t first = sum();
      if (!take(",")) throw std::runtime_error("no , in " + text_);
      const std::int64_t second = sum();
      if (!take(")")) throw std::runtime_error("no ) in " + text_);
      return std::min(first, second);
    }
    const auto size = sizes_.find(word);
    if (size == sizes_.end()) throw NoValue{};
    return size->second;
  }

  std::string text_;
  const Sizes& sizes_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> evaluate(const Dim& dim, const Sizes& sizes) {
  if (dim.is_unknown()) return std::nullopt;
  try {
    return Expression(dim.to_string(), sizes).value();
  } catch (const NoValue&) {
    return std::nullopt;
  }
}

std::vector<std::string> names_in(const Dim& dim) {
  const std::string text = dim.is_unknown() ? std::string() : dim.to_string();
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    std::string word;
    while (at < text.size() && is_word(text[at])) word += text[at++];
    if (word == "min" && at < text.size() && text[at] == '(') continue;
    if (!std::isdigit(static_cast<unsigned char>(word[0])) && std::ranges::find(names, word) == names.end())
      names.push_back(std::move(word));
  }
  return names;
}

std::optional<std::int64_t> solve(const Dim& dim, std::int64_t size) {
  const auto names = names_in(dim);
  if (names.size() != 1) return std::nullopt;
  const auto at = [&](std::int64_t tried) { return evaluate(dim, {{names[0], tried}}); };
  if (const auto none = at(0), one = at(1); none && one)
    if (const auto even = floor_div(Dim(size) - Dim(*none), Dim(*one) - Dim(*none)).number();
        even && *even >= 0 && at(*even) == size)
      return even;
  for (std::int64_t tried = 0; tried <= most_solved; ++tried)
    if (at(tried) == size) return tried;
  return std::nullopt;
}

}  // namespace compatcheck::symbolic

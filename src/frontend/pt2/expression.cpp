#include "frontend/pt2/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "compatcheck/error.h"

namespace compatcheck::frontend::pt2 {
namespace {

using Number = Expression::Number;
using ExpressionKind = Expression::Kind;

constexpr std::size_t longest = 64 << 10;
constexpr int deepest_expression = 100, most_operators = 1000;

// sympy's and torch's names of one function.
constexpr auto same_functions = std::to_array<std::pair<std::string_view, std::string_view>>({{"StrictGreaterThan", "Gt"},
                                                                                              {"GreaterThan", "Ge"},
                                                                                              {"StrictLessThan", "Lt"},
                                                                                              {"LessThan", "Le"},
                                                                                              {"Equality", "Eq"},
                                                                                              {"Unequality", "Ne"},
                                                                                              {"CleanDiv", "FloorDiv"},
                                                                                              {"IntTrueDiv", "TrueDiv"},
                                                                                              {"FloatTrueDiv", "TrueDiv"},
                                                                                              {"Rational", "TrueDiv"},
                                                                                              {"PythonMod", "Mod"},
                                                                                              {"PowByNatural", "Pow"},
                                                                                              {"FloatPow", "Pow"},
                                                                                              {"math.trunc", "TruncToInt"},
                                                                                              {"int", "TruncToInt"},
                                                                                              {"torch.sym_int", "TruncToInt"},
                                                                                              {"torch.sym_float", "ToFloat"},
                                                                                              {"float", "ToFloat"},
                                                                                              {"math.floor", "FloorToInt"},
                                                                                              {"math.ceil", "CeilToInt"},
                                                                                              {"max", "Max"},
                                                                                              {"torch.sym_max", "Max"},
                                                                                              {"min", "Min"},
                                                                                              {"torch.sym_min", "Min"},
                                                                                              {"torch.sym_not", "Not"},
                                                                                              {"abs", "Abs"},
                                                                                              {"round", "RoundToInt"},
                                                                                              {"math.sqrt", "Sqrt"},
                                                                                              {"torch._sym_sqrt", "Sqrt"}});

Expression number_expression(Number value) { return {.kind = ExpressionKind::number, .value = value}; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expression whole() {
    Expression parsed = disjunction();
    skip();
    if (at_ < text_.size()) fail();
    return parsed;
  }

 private:
  struct Nesting {
    explicit Nesting(Parser& in) : parser(in) {
      if (++parser.depth_ > deepest_expression) throw ModelError("an expression of sizes is nested more than 100 deep");
    }
    ~Nesting() { --parser.depth_; }
    Parser& parser;
  };

  // An initializer list would copy each operand.
  template <class... Operands>
  Expression call(std::string name, Operands... operands) {
    std::vector<Expression> arguments;
    (arguments.push_back(std::move(operands)), ...);
    return call(std::move(name), std::move(arguments));
  }
  // Bounded, because what comes after walks expressions by recursion.
  Expression call(std::string name, std::vector<Expression> arguments) {
    if (++operators_ > most_operators) throw ModelError("an expression of sizes has more than 1,000 operators");
    return {.kind = ExpressionKind::call, .name = std::move(name), .arguments = std::move(arguments)};
  }

  [[noreturn]] void fail() const {
    throw ModelError("can't read the expression of sizes \"" + std::string(text_.substr(0, 80)) + "\"");
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool peek(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    return !is_word(token.back()) || at_ + token.size() >= text_.size() || !is_word(text_[at_ + token.size()]);
  }
  bool accept(std::string_view token) {
    if (!peek(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail();
  }
  static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  Expression disjunction() {
    const Nesting nesting(*this);
    Expression left = conjunction();
    while (accept("or")) left = call("Or", std::move(left), conjunction());
    return left;
  }
  Expression conjunction() {
    Expression left = negation();
    while (accept("and")) left = call("And", std::move(left), negation());
    return left;
  }
  Expression negation() {
    const Nesting nesting(*this);
    return accept("not") ? call("Not", negation()) : comparison();
  }
  Expression comparison() {
    constexpr auto operators = std::to_array<std::pair<std::string_view, std::string_view>>(
        {{"==", "Eq"}, {"!=", "Ne"}, {"<=", "Le"}, {">=", "Ge"}, {"<", "Lt"}, {">", "Gt"}});
    Expression left = sum();
    std::vector<Expression> chain;  // a < b < c
    for (bool found = true; found;) {
      found = false;
      for (const auto& [token, name] : operators)
        if (accept(token)) {
          Expression right = sum();
          chain.push_back(call(std::string(name), std::move(left), right));
          left = std::move(right);
          found = true;
          break;
        }
    }
    if (chain.empty()) return left;
    return chain.size() == 1 ? std::move(chain.front()) : call("And", std::move(chain));
  }
  Expression sum() {
    Expression left = term();
    for (;;) {
      if (accept("+"))
        left = call("Add", std::move(left), term());
      else if (accept("-"))
        left = call("Add", std::move(left), call("Mul", number_expression(std::int64_t{-1}), term()));
      else
        return left;
    }
  }
  Expression term() {
    Expression left = factor();
    for (;;) {
      if (accept("//"))
        left = call("FloorDiv", std::move(left), factor());
      else if (!peek("**") && accept("*"))
        left = call("Mul", std::move(left), factor());
      else if (accept("/"))
        left = call("TrueDiv", std::move(left), factor());
      else if (accept("%"))
        left = call("Mod", std::move(left), factor());
      else
        return left;
    }
  }
  Expression factor() {
    const Nesting nesting(*this);
    if (accept("-")) {
      Expression negated = factor();
      if (negated.kind == ExpressionKind::number)
        if (const auto* whole = std::get_if<std::int64_t>(&negated.value)) return number_expression(-*whole);
      return call("Mul", number_expression(std::int64_t{-1}), std::move(negated));
    }
    Expression base = primary();
    return accept("**") ? call("Pow", std::move(base), factor()) : base;
  }
  Expression primary() {
    skip();
    if (at_ >= text_.size()) fail();
    if (accept("(")) {
      Expression inner = disjunction();
      expect(")");
      return inner;
    }
    if (is_digit(text_[at_])) return literal();
    std::string name = dotted_name();
    if (name == "L" && peek("[")) return source();
    if (name == "True" || name == "true") return number_expression(true);
    if (name == "False" || name == "false") return number_expression(false);
    if (!peek("(")) return {.kind = ExpressionKind::symbol, .name = std::move(name)};
    return function(std::move(name));
  }
  Expression literal() {
    std::size_t end = at_;
    bool real = false;
    while (end < text_.size() &&
           (is_digit(text_[end]) || text_[end] == '.' || text_[end] == 'e' || text_[end] == 'E' ||
            ((text_[end] == '-' || text_[end] == '+') && (text_[end - 1] == 'e' || text_[end - 1] == 'E')))) {
      real = real || !is_digit(text_[end]);
      ++end;
    }
    const std::string_view digits = text_.substr(at_, end - at_);
    at_ = end;
    return real ? number_expression(parsed<double>(digits)) : number_expression(parsed<std::int64_t>(digits));
  }
  template <class Value>
  Value parsed(std::string_view digits) const {
    Value value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) fail();
    return value;
  }
  std::string dotted_name() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || (text_[at_] == '.' && at_ > start))) ++at_;
    if (at_ == start || is_digit(text_[start])) fail();
    return std::string(text_.substr(start, at_ - start));
  }
  std::string quoted() {
    skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail();
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == text_.npos) fail();
    const std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(inner);
  }
  // L['d']['k'][0].size()[1]
  Expression source() {
    Expression made{.kind = ExpressionKind::source, .value = std::int64_t{-1}};
    while (accept("[")) {
      skip();
      const bool is_key = at_ < text_.size() && !is_digit(text_[at_]);
      const std::string part = is_key ? quoted() : std::to_string(index());
      made.name += (made.name.empty() ? "" : ".") + part;
      expect("]");
    }
    if (!accept(".")) return made;
    if (dotted_name() != "size") fail();
    expect("(");
    expect(")");
    expect("[");
    made.value = index();
    expect("]");
    return made;
  }
  std::int64_t index() {
    const Expression parsed = literal();
    const auto* whole = std::get_if<std::int64_t>(&parsed.value);
    if (!whole) fail();
    return *whole;
  }
  Expression function(std::string name) {
    const Nesting nesting(*this);
    expect("(");
    if (name == "Symbol" || name == "Float") {
      const std::string text = quoted();
      while (accept(",")) named_argument();
      expect(")");
      if (name == "Symbol" && (text.empty() || is_digit(text.front()) || !std::ranges::all_of(text, is_word))) fail();
      return name == "Symbol" ? Expression{.kind = ExpressionKind::symbol, .name = text}
                              : number_expression(parsed<double>(text));
    }
    std::vector<Expression> arguments;
    while (!accept(")")) {
      if (!arguments.empty()) expect(",");
      arguments.push_back(disjunction());
    }
    if (name == "Integer" && arguments.size() == 1) return std::move(arguments.front());
    const auto same = std::ranges::find(same_functions, std::string_view(name), [](const auto& pair) { return pair.first; });
    return call(same == same_functions.end() ? std::move(name) : std::string(same->second), std::move(arguments));
  }
  void named_argument() {  // positive=True
    skip();
    dotted_name();
    expect("=");
    skip();
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0, operators_ = 0;
};

double real_of(const Number& value) {
  return std::visit([](auto held) { return static_cast<double>(held); }, value);
}
std::optional<std::int64_t> whole_of(const Number& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  return std::nullopt;
}
bool truth_of(const Number& value) { return real_of(value) != 0; }

std::optional<std::int64_t> as_whole(double value) {
  if (!(std::abs(value) < 9e18)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<Number> power(const Number& base, const Number& exponent) {
  const auto whole = whole_of(base), times = whole_of(exponent);
  if (!whole || !times || *times < 0) return std::pow(real_of(base), real_of(exponent));
  std::int64_t product = 1;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(*times, 64); ++i)
    if (__builtin_mul_overflow(product, *whole, &product)) return std::nullopt;
  return *times > 64 && (*whole > 1 || *whole < -1) ? std::nullopt : std::optional<Number>(product);
}

std::optional<Number> divided(std::string_view name, const Number& left, const Number& right) {
  if (!truth_of(right)) return std::nullopt;
  const auto a = whole_of(left), b = whole_of(right);
  if (name == "TrueDiv") return real_of(left) / real_of(right);
  if (!a || !b || *b == -1) {
    if (name == "FloorDiv") return std::floor(real_of(left) / real_of(right));
    return real_of(left) - std::floor(real_of(left) / real_of(right)) * real_of(right);
  }
  const std::int64_t quotient = *a / *b - ((*a % *b != 0 && (*a < 0) != (*b < 0)) ? 1 : 0);
  if (name == "FloorDiv") return quotient;
  return *a - quotient * *b;
}

std::optional<Number> folded(std::string_view name, const Number& left, const Number& right) {
  const auto a = whole_of(left), b = whole_of(right);
  std::int64_t whole = 0;
  if (name == "Add") {
    if (!a || !b) return real_of(left) + real_of(right);
    return __builtin_add_overflow(*a, *b, &whole) ? std::nullopt : std::optional<Number>(whole);
  }
  if (name == "Mul") {
    if (!a || !b) return real_of(left) * real_of(right);
    return __builtin_mul_overflow(*a, *b, &whole) ? std::nullopt : std::optional<Number>(whole);
  }
  if (name == "Max") return real_of(left) < real_of(right) ? right : left;
  if (name == "Min") return real_of(right) < real_of(left) ? right : left;
  if (name == "And") return truth_of(left) && truth_of(right);
  if (name == "Or") return truth_of(left) || truth_of(right);
  return std::nullopt;
}

std::optional<Number> compared(std::string_view name, const Number& left, const Number& right) {
  const double a = real_of(left), b = real_of(right);
  if (name == "Eq") return a == b;
  if (name == "Ne") return a != b;
  if (name == "Lt") return a < b;
  if (name == "Le") return a <= b;
  if (name == "Gt") return a > b;
  if (name == "Ge") return a >= b;
  return std::nullopt;
}

std::optional<Number> of_one(std::string_view name, const Number& value) {
  if (name == "Not") return !truth_of(value);
  if (name == "ToFloat") return real_of(value);
  if (name == "Identity") return value;
  if (name == "Abs") {
    const auto whole = whole_of(value);
    if (whole == INT64_MIN) return std::nullopt;
    return whole ? Number(std::abs(*whole)) : Number(std::abs(real_of(value)));
  }
  if (name == "Sqrt") return std::sqrt(real_of(value));
  std::optional<std::int64_t> whole = whole_of(value);
  if (!whole) {
    if (name == "TruncToInt") whole = as_whole(std::trunc(real_of(value)));
    if (name == "FloorToInt") whole = as_whole(std::floor(real_of(value)));
    if (name == "CeilToInt") whole = as_whole(std::ceil(real_of(value)));
    if (name == "RoundToInt") whole = as_whole(std::nearbyint(real_of(value)));
    return whole ? std::optional<Number>(*whole) : std::nullopt;
  }
  const bool rounds = name == "TruncToInt" || name == "FloorToInt" || name == "CeilToInt" || name == "RoundToInt";
  return rounds ? std::optional<Number>(*whole) : std::nullopt;
}

}  // namespace

Expression parse_expression(std::string_view text) {
  if (text.size() > longest) throw ModelError("an expression of sizes is longer than 64 KB");
  return Parser(text).whole();
}

std::optional<Number> evaluate(const Expression& expression, const ValueOf& value_of) {
  if (expression.kind == ExpressionKind::number) return expression.value;
  if (expression.kind != ExpressionKind::call) return value_of(expression);
  std::vector<Number> values;
  for (const Expression& argument : expression.arguments) {
    const auto value = evaluate(argument, value_of);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  const std::string& name = expression.name;
  if (values.size() == 1) return of_one(name, values[0]);
  if (values.size() == 3 && name == "Where") return truth_of(values[0]) ? values[1] : values[2];
  if (values.size() == 3 && name == "ModularIndexing") {
    const auto quotient = divided("FloorDiv", values[0], values[1]);
    return quotient ? divided("Mod", *quotient, values[2]) : std::nullopt;
  }
  if (values.size() == 2) {
    if (name == "FloorDiv" || name == "TrueDiv" || name == "Mod") return divided(name, values[0], values[1]);
    if (name == "CeilDiv") {
      const auto a = whole_of(values[0]), b = whole_of(values[1]);
      return a && b && *b > 0 ? std::optional<Number>(*a / *b + (*a % *b > 0 ? 1 : 0)) : std::nullopt;
    }
    if (name == "Pow") return power(values[0], values[1]);
    if (const auto truth = compared(name, values[0], values[1])) return truth;
  }
  if (values.size() < 2) return std::nullopt;
  std::optional<Number> result = values.front();
  for (std::size_t i = 1; result && i < values.size(); ++i) result = folded(name, *result, values[i]);
  return result;
}

void for_each_leaf(const Expression& expression, const std::function<void(const Expression&)>& visit) {
  if (expression.kind == ExpressionKind::symbol || expression.kind == ExpressionKind::source) visit(expression);
  for (const Expression& argument : expression.arguments) for_each_leaf(argument, visit);
}

std::set<std::string> symbols_of(const Expression& expression) {
  std::set<std::string> symbols;
  for_each_leaf(expression, [&](const Expression& leaf) {
    if (leaf.kind == ExpressionKind::symbol) symbols.insert(leaf.name);
  });
  return symbols;
}

}  // namespace compatcheck::frontend::pt2

// Expressions over sizes, as exported programs write them: sympy's srepr since torch 2.6 ("Mul(Integer(2), Symbol('s77'))"),
// Python's notation before ("2*s0") and in guards ("L['x'].size()[0] % 2 == 0"). One grammar reads both.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace compatcheck::frontend::pt2 {

struct Expression {
  // number: `value`. symbol: `name`. call: `name` is the function, operators have the names of sympy's classes: Add, Mul, Pow,
  // FloorDiv, TrueDiv, Mod, Eq, Ne, Lt, Le, Gt, Ge, And, Or, Not. source: `name` is an input ("L['d']['k']" is "d.k"), `value`
  // its dimension, or -1 for the input itself.
  enum class Kind : std::uint8_t { number, symbol, call, source } kind = Kind::number;
  using Number = std::variant<std::int64_t, double, bool>;
  Number value{};
  std::string name{};
  std::vector<Expression> arguments{};
};

// Throws ModelError if the text is not such an expression.
Expression parse_expression(std::string_view text);

// Returns the value of a symbol or source; nullopt if it is unknown.
using ValueOf = std::function<std::optional<Expression::Number>(const Expression&)>;
// Nullopt if a value in it is unknown, a result overflows, or a function is not supported.
std::optional<Expression::Number> evaluate(const Expression& expression, const ValueOf& value_of);

// Visits every symbol and source in it.
void for_each_leaf(const Expression& expression, const std::function<void(const Expression&)>& visit);
std::set<std::string> symbols_of(const Expression& expression);

}  // namespace compatcheck::frontend::pt2

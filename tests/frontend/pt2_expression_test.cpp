#include <gtest/gtest.h>

#include "compatcheck/error.h"
#include "frontend/pt2/expression.h"

namespace compatcheck::frontend::pt2 {
namespace {

// With 7 for every symbol and size.
std::optional<Expression::Number> value_of(std::string_view text) {
  return evaluate(parse_expression(text), [](const Expression&) { return Expression::Number(std::int64_t{7}); });
}

template <class Value>
void expect(std::string_view text, Value expected) {
  const auto value = value_of(text);
  ASSERT_TRUE(value) << text;
  ASSERT_TRUE(std::holds_alternative<Value>(*value)) << text;
  EXPECT_EQ(std::get<Value>(*value), expected) << text;
}

void expect(std::string_view text, int expected) { expect(text, std::int64_t{expected}); }

TEST(Expression, ReadsSympysNotation) {
  expect("Symbol('s77', positive=True, integer=True)", 7);
  expect("Integer(-3)", -3);
  expect("Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(1), Symbol('s1'))", 22);
  expect("FloorDiv(Add(Symbol('s0'), Integer(1)), Integer(2))", 4);
  expect("PythonMod(Mul(Integer(-1), Symbol('s0')), Integer(4))", 1);
  expect("Max(Integer(9), Symbol('s0'), Integer(8))", 9);
  expect("TruncToInt(Mul(Float('1.5', precision=53), ToFloat(Symbol('s0'))))", 10);
  expect("ModularIndexing(Symbol('s0'), Integer(2), Integer(2))", 1);
  expect("Pow(Symbol('s0'), Integer(2))", 49);
  expect("StrictLessThan(Symbol('u0', integer=True), Integer(7))", false);
  expect("And(LessThan(Symbol('u0'), Integer(7)), Unequality(Symbol('u0'), Integer(1)))", true);
  expect("CeilDiv(Symbol('s0'), Integer(2))", 4);
}

TEST(Expression, ReadsPythonsNotation) {
  expect("2*s0 + 1", 15);
  expect("-s0//2", -4);
  expect("-s0 % 4", 1);
  expect("2**3**2", 512);
  expect("(s0 + 1)*(s0 - 1)", 48);
  expect("Mod(s0, 2)", 1);
  expect("Max(1, s0)", 7);
  expect("s0 / 2", 3.5);
  expect("1.5", 1.5);
  expect("2 <= s0 <= 9 and not s0 == 8", true);
}

TEST(Expression, ReadsGuards) {
  expect("L['x'].size()[0] % 2 == 1", true);
  expect("math.trunc(0.5*torch.sym_float(L['d']['k'][0].size()[1])) == 3", true);
  const Expression size = parse_expression("L['d']['k'][0].size()[1]");
  EXPECT_EQ(size.kind, Expression::Kind::source);
  EXPECT_EQ(size.name, "d.k.0");
  EXPECT_EQ(std::get<std::int64_t>(size.value), 1);
  EXPECT_EQ(std::get<std::int64_t>(parse_expression("L['n']").value), -1);
}

TEST(Expression, KnowsNoValueOfWhatOverflowsOrIsUnknown) {
  EXPECT_FALSE(value_of("9223372036854775807 + s0"));
  EXPECT_FALSE(value_of("Pow(Integer(10), Integer(40))"));
  EXPECT_FALSE(value_of("s0 // 0"));
  EXPECT_FALSE(value_of("s0 % 0"));
  EXPECT_FALSE(value_of("IsNonOverlappingAndDenseIndicator(s0)"));
  EXPECT_FALSE(value_of("Rounded(s0, 2)"));
  const auto unknown = [](const Expression&) { return std::optional<Expression::Number>(); };
  EXPECT_FALSE(evaluate(parse_expression("s0 + 1"), unknown));
}

TEST(Expression, RefusesOtherText) {
  for (const std::string_view text :
       {"", "s0 +", "(s0", "s0 s1", "f(", "L['x", "L['x'].shape", "1.2.3", "s0 = 1", "Symbol(s0)", "'a'"})
    EXPECT_THROW(parse_expression(text), ModelError) << text;
  EXPECT_THROW(parse_expression(std::string(300, '(') + "1" + std::string(300, ')')), ModelError);
  EXPECT_THROW(parse_expression(std::string(300, '-') + "1"), ModelError);
  EXPECT_THROW(parse_expression(std::string(70'000, '1')), ModelError);
}

}  // namespace
}  // namespace compatcheck::frontend::pt2

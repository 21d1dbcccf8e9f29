// Comparisons, logic, tests and selection.
#include <cmath>

#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/loop.h"

namespace compatcheck::handlers {
namespace {

template <BinaryFunction compare>
void comparison(Emission& e) {
  const auto [a, b] = operands(e);
  e.give(compare(e, a, b));
}

Value exclusive_or(Emission& e, const Value& a, const Value& b) { return e.node("Xor", {a, b}); }

// Numbers count as true where they differ from 0.
template <BinaryFunction connect>
void logical(Emission& e) {
  const auto [a, b] = operand_names(e);
  e.give(connect(e, truth(e, e.tensor(a)), truth(e, e.tensor(b))));
}

void give_logical_not(Emission& e) { e.give(logical_not(e, truth(e, e.tensor("self")))); }

// ---- Tests

using Test = Value (*)(Emission&, const Value&);

// Tests floats; the answer for integers and bool is the same everywhere.
template <Test test, bool of_integers>
void float_test(Emission& e) {
  const Value x = e.tensor("self");
  e.give(ir::is_floating(x.dtype) ? test(e, x) : filled_like(e, x, DType::boolean, of_integers));
}

Value finite(Emission& e, const Value& x) {
  return less(e, absolute(e, x), e.scalar(x.dtype, std::numeric_limits<double>::infinity()));
}

// Tests a Python float.
template <Test test>
void number_test(Emission& e) {
  e.give(test(e, e.number_value("a", DType::f64)));
}

Value positive_infinite(Emission& e, const Value& x) {
  if (e.at_least(10)) return e.node("IsInf", {x}, {{"detect_negative", 0}});
  return greater(e, x, e.scalar(x.dtype, largest(x.dtype)));
}

Value negative_infinite(Emission& e, const Value& x) {
  if (e.at_least(10)) return e.node("IsInf", {x}, {{"detect_positive", 0}});
  return less(e, x, e.scalar(x.dtype, -largest(x.dtype)));
}

void isreal(Emission& e) { e.give(filled_like(e, e.tensor("self"), DType::boolean, 1)); }

void signbit(Emission& e) {
  const Value x = e.tensor("self");
  e.give(x.dtype == DType::boolean ? filled_like(e, x, DType::boolean, 0) : is_negative(e, x));
}

// ---- Closeness. Source: at::isclose.

Value close(Emission& e) {
  const auto [a, b] = operands(e);
  Value made = equal(e, a, b);
  if (e.boolean("equal_nan") && ir::is_floating(a.dtype)) made = logical_or(e, made, logical_and(e, is_nan(e, a), is_nan(e, b)));
  const double rtol = e.number("rtol"), atol = e.number("atol");
  if (rtol == 0 && atol == 0) return made;
  const DType dtype = symbolic::to_float(a.dtype);
  const Value y = e.cast(b, dtype);
  const Value allowed = add(e, e.scalar(dtype, atol), absolute(e, multiply(e, e.scalar(dtype, rtol), y)));
  const Value distance = absolute(e, subtract(e, e.cast(a, dtype), y));
  return logical_or(e, made, logical_and(e, finite(e, distance), less_equal(e, distance, allowed)));
}

void isclose(Emission& e) { e.give(close(e)); }

Value all_of(Emission& e, const Value& bools) {
  return truth(e, e.node("ReduceMin", {e.cast(bools, DType::i32)}, {{"keepdims", 0}}));
}

void allclose(Emission& e) { e.give(all_of(e, close(e))); }

void equal_tensors(Emission& e) {
  const Shape &a = e.shape("self"), &b = e.shape("other");
  if (a.size() != b.size()) return e.give(e.scalar(DType::boolean, 0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (provably_different(a[i], b[i])) return e.give(e.scalar(DType::boolean, 0));
    if (!provably_equal(a[i], b[i])) throw Refusal{"whether both tensors have one shape is known only when the model runs"};
  }
  const auto [x, y] = operands(e);
  e.give(all_of(e, equal(e, x, y)));
}

// The dtype of the comparison. Many are sorted together, as vectors; few are compared in pairs, where a tensor without dimensions
// gives way to the other's dtype.
DType dtype_of_isin(Emission& e, std::string_view elements, std::string_view among) {
  const auto own = [&](std::string_view argument) {
    const Number* number = e.operand(argument).number();
    return number ? number->dtype() : e.dtype(argument);
  };
  const DType pairs = result_type(e, {elements, among});
  const auto sorted = symbolic::promote_types(own(elements), own(among));
  if (!sorted || *sorted == pairs) return pairs;
  const auto count = [&](std::string_view argument) {
    return e.operand(argument).number() ? std::optional<std::int64_t>(1) : symbolic::product(e.shape(argument)).number();
  };
  const auto few = count(elements), many = count(among);
  if (!few || !many)
    throw Refusal{"the number of elements decides in which dtype isin compares, and isn't known",
                  "convert both operands to one dtype before"};
  const auto limit = static_cast<std::int64_t>(10.0F * std::pow(static_cast<double>(*few), 0.145));
  return *many < limit ? pairs : *sorted;
}

void isin(Emission& e) {
  const auto [elements, among] = operand_names(e);
  const DType dtype = dtype_of_isin(e, elements, among);
  const Value x = e.number_value(elements, dtype), y = e.number_value(among, dtype);
  const std::int64_t rank = e.rank(elements);
  const Value listed = e.build.reshape(y, {-1});
  const Value found = equal(e, e.build.unsqueeze(x, {rank}), listed);
  const DType counted = e.at_least(9) ? DType::i32 : DType::f32;  // dtype that Greater supports
  const Value most = e.node("ReduceMax", {e.cast(found, counted)}, {{"axes", Ints{rank}}, {"keepdims", 0}});
  const Value any = e.node("Greater", {most, e.scalar(counted, 0)});  // the maximum of no elements is below 0
  e.give(e.boolean("invert") ? logical_not(e, any) : any);
}

void is_nonzero(Emission& e) { e.give(truth(e, e.build.reshape(e.tensor("self"), {}))); }
void is_all_true(Emission& e) { e.give(all_of(e, e.tensor("self"))); }
void is_any_true(Emission& e) { e.give(any(e, e.tensor("self"))); }

// ---- Selection

void where_self(Emission& e) {
  const DType dtype = e.output_dtype();
  e.give(where(e, truth(e, e.tensor("condition")), e.number_value("self", dtype), e.number_value("other", dtype)));
}

}  // namespace

void register_comparison(Registry& registry) {
  registry.handler("aten::eq", comparison<equal>);
  registry.handler("aten::ne", comparison<not_equal>);
  registry.handler("aten::lt", comparison<less>);
  registry.handler("aten::le", comparison<less_equal>);
  registry.handler("aten::gt", comparison<greater>);
  registry.handler("aten::ge", comparison<greater_equal>);
  registry.handler("aten::logical_and", logical<logical_and>);
  registry.handler("aten::logical_or", logical<logical_or>);
  registry.handler("aten::logical_xor", logical<exclusive_or>);
  registry.handler("aten::logical_not", give_logical_not);
  registry.handler("aten::isnan", float_test<is_nan, false>);
  registry.handler("aten::isinf", float_test<is_infinite, false>);
  registry.handler("aten::isfinite", float_test<finite, true>);
  registry.number_handler("aten::isnan", number_test<is_nan>);
  registry.number_handler("aten::isinf", number_test<is_infinite>);
  registry.number_handler("aten::isfinite", number_test<finite>);
  registry.handler("aten::isposinf", float_test<positive_infinite, false>);
  registry.handler("aten::isneginf", float_test<negative_infinite, false>);
  registry.handler("aten::isreal", isreal);
  registry.handler("aten::signbit", signbit);
  registry.handler("aten::isclose", isclose);
  registry.handler("aten::allclose", allclose);
  registry.handler("aten::equal", equal_tensors);
  registry.handler("aten::isin", isin);
  registry.handler("aten::is_nonzero", is_nonzero);
  registry.handler("aten::_is_all_true", is_all_true);
  registry.handler("aten::_is_any_true", is_any_true);
  registry.handler("aten::where.self", where_self);
}

}  // namespace compatcheck::handlers

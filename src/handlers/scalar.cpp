// Python's numbers that are known only when the model runs: values without dimensions of i64, f64 or bool.
#include "handlers/arithmetic_division.h"
#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/loop.h"
#include "handlers/power.h"

namespace compatcheck::handlers {
namespace {

Value single(Emission& e) { return e.tensor(e.call.node().schema()->arguments.front().name); }

// ---- Of two numbers

template <BinaryFunction function>
void of_two(Emission& e) {
  const auto [a, b] = operands(e);
  e.give(function(e, a, b));
}

// Sums and products of bools are ints.
template <BinaryFunction function>
void arithmetic(Emission& e) {
  const auto [a, b] = operand_names(e);
  const DType dtype = e.output_dtype();
  e.give(function(e, e.number_value(a, dtype), e.number_value(b, dtype)));
}

// In double: 1 / 2 is a half.
template <BinaryFunction function>
void in_double(Emission& e) {
  const auto [a, b] = operand_names(e);
  e.give(function(e, e.number_value(a, DType::f64), e.number_value(b, DType::f64)));
}

Value raised(Emission& e, const Value& a, const Value& b) { return e.node("Pow", {a, b}); }

void floor_divide_numbers(Emission& e) {
  const auto [a, b] = operands(e);
  const auto names = operand_names(e);
  if (!is_floating(a)) return e.give(floored_quotient(e, a, b, is_natural(e, names.first) && is_natural(e, names.second)));
  e.give(e.node("Floor", {divide(e, a, b)}));  // same computation as in TorchScript
}

// TorchScript's formula: what infinity leaves is NaN.
void remainder_of_numbers(Emission& e) {
  const auto [a, b] = operands(e);
  if (!is_floating(a) || !e.at_least(10)) return e.give(remainder_of(e, a, b));
  e.give(truncated_remainder(e, add(e, b, truncated_remainder(e, a, b)), b));
}

void int_power(Emission& e) {
  const auto [a, b] = operand_names(e);
  const DType dtype = e.output_dtype();
  const Value base = e.number_value(a, dtype), exponent = e.number_value(b, dtype);
  e.give(dtype == DType::i64 ? power(e, base, exponent) : raised(e, base, exponent));
}

// ---- Of one

void negated_number(Emission& e) { e.give(negated(e, single_operand(e))); }
void abs_of_number(Emission& e) { e.give(absolute(e, single_operand(e))); }
void opposite(Emission& e) { e.give(logical_not(e, truth(e, single(e)))); }
void same_number(Emission& e) { e.give(single(e)); }
void as_bool(Emission& e) { e.give(truth(e, single(e))); }

void rounded_number(Emission& e, const char* op) {
  const Value x = single(e);
  e.give(is_floating(x) ? e.node(op, {x}) : x);
}

void floor_of_number(Emission& e) { rounded_number(e, "Floor"); }
void ceil_of_number(Emission& e) { rounded_number(e, "Ceil"); }
void round_of_number(Emission& e) { rounded_number(e, "Round"); }

// One ONNX operator on a float.
void by_row(Emission& e) { e.give(e.node(e.row().to.front(), {single_operand(e)})); }

// To a base, if there is one.
void log(Emission& e) {
  const auto& arguments = e.call.node().schema()->arguments;
  const auto logarithm = [&](std::size_t i) { return e.node("Log", {e.number_value(arguments[i].name, DType::f64)}); };
  e.give(arguments.size() == 1 ? logarithm(0) : divide(e, logarithm(0), logarithm(1)));
}

void modf(Emission& e) {
  const Value x = e.tensor("a"), whole = truncated(e, x), fraction = subtract(e, x, whole);
  e.give(0, where(e, is_infinite(e, x), e.scalar(x.dtype, 0), fraction));
  e.give(1, whole);
}

void divmod(Emission& e) {
  const auto [a, b] = operands(e);
  e.give(0, floored_quotient(e, a, b));
  e.give(1, remainder_of(e, a, b));
}

// By the nearest quotient, the even one of two. Every step is exact.
Value ieee_remainder(Emission& e, const Value& a, const Value& b) {
  const auto twice = [&](const Value& x) { return add(e, x, x); };
  const Value size = absolute(e, b), rest = truncated_remainder(e, absolute(e, a), twice(size));
  const Value lower = subtract(e, rest, size);
  const Value lowest = where(e, less(e, twice(lower), size), lower, subtract(e, lower, size));
  return multiply(e, e.node("Sign", {a}), where(e, greater(e, twice(rest), size), lowest, rest));
}

// Beyond 20! the product wraps, as in TorchScript.
void factorial_by_table(Emission& e) {
  Ints table;
  std::uint64_t product = 1;
  for (std::uint64_t n = 1; n <= 67; product *= n++) table.push_back(static_cast<std::int64_t>(product));
  e.give(e.node("Gather", {e.integers(table), single_operand(e)}, {{"axis", 0}}));
}

// Divides as integers.
void round_to_zero_floordiv(Emission& e) {
  const auto [a, b] = operands(e);
  e.give(divide(e, a, b));
}

// ---- Of lists

Value whole_list(Emission& e, DType dtype) {
  const Operand& list = e.operand("self");
  if (const auto* vector = std::get_if<Vector>(&list.value)) return vector->value;
  if (list.list()) return vector_of(*list.list(), dtype, e.build);
  throw Refusal{"'self' is no list of numbers"};
}

void extreme_of_list(Emission& e, const char* op) {
  const DType dtype = e.output_dtype();
  const Value whole = whole_list(e, dtype);
  const bool boolean = dtype == DType::boolean;
  e.give(e.node(op, {boolean ? e.cast(whole, DType::i32) : whole}, {{"keepdims", 0}}));
}

void list_max(Emission& e) { extreme_of_list(e, "ReduceMax"); }
void list_min(Emission& e) { extreme_of_list(e, "ReduceMin"); }

// Flags are counted.
void list_sum(Emission& e) {
  const DType dtype = e.output_dtype();
  e.give(e.node("ReduceSum", {e.cast(whole_list(e, dtype), dtype)}, {{"keepdims", 0}}));
}

// ---- Loops over range(start, stop, step)

void derive_index(Emission& e) {
  const auto number = [&](const char* name) { return e.number_value(name, DType::i64); };
  e.give(add(e, number("start"), multiply(e, number("index"), number("step"))));
}

// Zero, or the quotient rounded up: (hi - lo + step - sign) / step.
void range_length(Emission& e) {
  const auto number = [&](const char* name) { return e.number_value(name, DType::i64); };
  const Value step = number("step"), way = subtract(e, number("hi"), number("lo")), zero = e.scalar(DType::i64, 0);
  if (const auto known = e.call.integer("step"); known && *known != 0) {
    const Value spare = subtract(e, step, e.scalar(DType::i64, *known > 0 ? 1 : -1));
    return e.give(maximum(e, divide(e, add(e, way, spare), step), zero));
  }
  e.give(maximum(e, negated(e, floored_quotient(e, negated(e, way), step)), zero));
}

}  // namespace

void register_scalar(Registry& registry) {
  const std::pair<const char*, Handler> on_numbers[] = {{"aten::add", arithmetic<add>},
                                                        {"aten::sub", arithmetic<subtract>},
                                                        {"aten::mul", arithmetic<multiply>},
                                                        {"aten::div", in_double<divide>},
                                                        {"aten::floordiv", floor_divide_numbers},
                                                        {"aten::floor_divide", floor_divide_numbers},
                                                        {"aten::remainder", remainder_of_numbers},
                                                        {"aten::fmod", in_double<truncated_remainder>},
                                                        {"aten::pow", int_power},
                                                        {"aten::neg", negated_number},
                                                        {"aten::floor", floor_of_number},
                                                        {"aten::ceil", ceil_of_number},
                                                        {"aten::round", round_of_number},
                                                        {"prim::abs", abs_of_number},
                                                        {"aten::fabs", abs_of_number},
                                                        {"prim::max", of_two<maximum>},
                                                        {"prim::min", of_two<minimum>},
                                                        {"aten::lt", of_two<less>},
                                                        {"aten::le", of_two<less_equal>},
                                                        {"aten::gt", of_two<greater>},
                                                        {"aten::ge", of_two<greater_equal>},
                                                        {"aten::eq", of_two<equal>},
                                                        {"aten::ne", of_two<not_equal>},
                                                        {"aten::__not__", opposite},
                                                        {"aten::Int", same_number},
                                                        {"aten::Float", same_number},
                                                        {"aten::Bool", as_bool},
                                                        {"aten::__derive_index", derive_index},
                                                        {"aten::__range_length", range_length},
                                                        {"aten::log", log},
                                                        {"aten::modf", modf},
                                                        {"aten::divmod", divmod},
                                                        {"aten::mathremainder", in_double<ieee_remainder>},
                                                        {"aten::factorial", factorial_by_table},
                                                        {"aten::__round_to_zero_floordiv", round_to_zero_floordiv}};
  for (const auto& [op, handler] : on_numbers) registry.number_handler(op, handler);
  for (const char* op : {"aten::sqrt", "aten::exp", "aten::sin", "aten::cos", "aten::tanh"}) registry.number_handler(op, by_row);
  registry.handler("prim::abs", abs_of_number);
  for (const char* op : {"prim::max.self_int", "prim::max.self_float", "prim::max.self_bool"}) registry.handler(op, list_max);
  for (const char* op : {"aten::sum.int", "aten::sum.float", "aten::sum.bool"}) registry.handler(op, list_sum);
  for (const char* op : {"prim::min.self_int", "prim::min.self_float", "prim::min.self_bool"}) registry.handler(op, list_min);
}

}  // namespace compatcheck::handlers

// Sums, products and their combinations; bounds. Quotients: arithmetic_division.cpp; powers: power.cpp.
#include <limits>

#include "handlers/compute.h"
#include "handlers/elementary.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

// `factor` · value; the factor is 1 where the overload lacks it.
Value times_factor(Emission& e, const Value& value, std::string_view factor) {
  if (!e.given(factor) || e.call.number(factor) == 1) return value;
  return multiply(e, value, e.number_value(factor, value.dtype));
}

// Halves times a factor are added up before anything is rounded; the factor is a half itself.
void add_scaled(Emission& e, const Value& a, const Value& b, BinaryFunction combined) {
  if (!e.given("alpha") || e.call.number("alpha") == 1) return e.give(combined(e, a, b));
  const Value factor = widened(e, e.number_value("alpha", b.dtype));
  e.give(combined(e, widened(e, a), multiply(e, widened(e, b), factor)));
}

void add_other(Emission& e) {
  const auto [a, b] = operands(e);
  add_scaled(e, a, b, add);
}

void sub(Emission& e) {
  const auto [a, b] = operands(e);
  add_scaled(e, a, b, subtract);
}

void rsub(Emission& e) {
  const auto [a, b] = operands(e);
  add_scaled(e, b, a, subtract);
}

void mul(Emission& e) {
  const auto [a, b] = operands(e);
  e.give(multiply(e, a, b));
}

void neg(Emission& e) { e.give(negated(e, e.tensor("self"))); }
void abs(Emission& e) { e.give(absolute(e, e.tensor("self"))); }
void give_sign(Emission& e) { e.give(sign(e, e.tensor("self"))); }
void rsqrt(Emission& e) { e.give(e.node("Reciprocal", {e.node("Sqrt", {e.tensor("self", e.output_dtype())})})); }

// self + value · tensor1 · tensor2
void addcmul(Emission& e) {
  const auto operand = [&](std::string_view name) { return widened(e, e.tensor(name, e.output_dtype())); };
  const Value product = multiply(e, times_factor(e, operand("tensor1"), "value"), operand("tensor2"));
  e.give(add(e, operand("self"), product));
}

// self + value · tensor1 / tensor2
void addcdiv(Emission& e) {
  const auto operand = [&](std::string_view name) { return widened(e, e.tensor(name, e.output_dtype())); };
  const Value quotient = divide(e, times_factor(e, operand("tensor1"), "value"), operand("tensor2"));
  e.give(add(e, operand("self"), quotient));
}

// From whichever end is nearer: that one is reached exactly.
void lerp(Emission& e) {
  const Value start = widened(e, e.tensor("self", e.output_dtype())), end = widened(e, e.tensor("end", e.output_dtype()));
  const DType dtype = start.dtype;
  const Value weight = e.number_value("weight", dtype);
  const Value way = subtract(e, end, start), one = e.scalar(dtype, 1), half = e.scalar(dtype, 0.5);
  const auto from_start = [&] { return add(e, start, multiply(e, weight, way)); };
  const auto from_end = [&] { return subtract(e, end, multiply(e, way, subtract(e, one, weight))); };
  if (const auto known = constant_number(e, weight)) return e.give(*known > -0.5 && *known < 0.5 ? from_start() : from_end());
  if (!e.at_least(9)) return e.give(from_start());
  e.give(where(e, less(e, absolute(e, weight), half), from_start(), from_end()));
}

// ---- Bounds

void clamp(Emission& e) {
  // In place, too, it is computed in the dtype that bounds promote to.
  symbolic::Promotion promotion;
  for (const char* name : {"self", "min", "max"})
    if (e.given(name)) promotion.add(e.call.fact(name));
  const auto promoted = e.call.tensor("self") ? promotion.result() : std::nullopt;
  const DType dtype = promoted && !ir::is_quantized(*promoted) ? *promoted : e.output_dtype();
  const auto bound = [&](const char* name) { return e.given(name) ? e.number_value(name, dtype) : Value{}; };
  e.give(clamped(e, e.tensor("self", dtype), bound("min"), bound("max")));
}

template <Value (*extreme)(Emission&, const Value&, const Value&)>
void pairwise(Emission& e) {
  const auto [a, b] = operands(e);
  e.give(extreme(e, a, b));
}

// The other one where one is NaN.
template <Value (*extreme)(Emission&, const Value&, const Value&)>
void ignoring_nan(Emission& e) {
  const auto [a, b] = operands(e);
  const Value both = extreme(e, a, b);
  if (!ir::is_floating(both.dtype)) return e.give(both);
  e.give(where(e, is_nan(e, a), b, where(e, is_nan(e, b), a, both)));
}

void nan_to_num(Emission& e) {
  Value x = e.tensor("self");
  if (!ir::is_floating(x.dtype)) return e.give(x);
  const double most = largest(x.dtype);
  x = where(e, is_nan(e, x), e.scalar(x.dtype, e.number("nan", 0.0)), x);
  const Value low = e.scalar(x.dtype, -most), high = e.scalar(x.dtype, most);
  const bool given_low = e.given("neginf"), given_high = e.given("posinf");
  const Value below = given_low ? less(e, x, low) : Value{}, above = given_high ? greater(e, x, high) : Value{};
  Value made = given_low && given_high ? x : clamped(e, x, given_low ? Value{} : low, given_high ? Value{} : high);
  if (given_low) made = where(e, below, e.scalar(x.dtype, e.number("neginf")), made);
  if (given_high) made = where(e, above, e.scalar(x.dtype, e.number("posinf")), made);
  e.give(made);
}

// ---- Of signs

void copysign(Emission& e) {
  const DType dtype = e.output_dtype();
  const auto [self, other] = operand_names(e);
  const Value magnitude = absolute(e, e.number_value(self, dtype));
  Value of = e.tensor(other);
  if (of.dtype == DType::boolean) return e.give(add(e, magnitude, multiply(e, e.cast(of, dtype), e.scalar(dtype, 0))));
  if (ir::is_floating(of.dtype)) of = e.cast(of, dtype);  // the promotion may flush small values to 0
  const Value factor = subtract(e, e.scalar(dtype, 1), multiply(e, e.scalar(dtype, 2), e.cast(is_negative(e, of), dtype)));
  e.give(multiply(e, magnitude, factor));
}

void heaviside(Emission& e) {
  const auto [x, values] = operands(e);
  const Value zero = e.scalar(x.dtype, 0);
  e.give(where(e, equal(e, x, zero), values, e.cast(greater(e, x, zero), x.dtype)));
}

// In double, where the squares of floats don't overflow; an infinite leg makes an infinite one, beside NaN too.
void hypot(Emission& e) {
  const auto [a, b] = operands(e);
  const bool wide = a.dtype == DType::f32;
  const Value x = wide ? e.cast(a, DType::f64) : a, y = wide ? e.cast(b, DType::f64) : b;
  const Value length = e.cast(e.node("Sqrt", {add(e, multiply(e, x, x), multiply(e, y, y))}), a.dtype);
  const Value infinite = logical_or(e, is_infinite(e, a), is_infinite(e, b));
  e.give(where(e, infinite, e.scalar(a.dtype, std::numeric_limits<double>::infinity()), length));
}

}  // namespace

void register_arithmetic(Registry& registry) {
  registry.handler("aten::add", add_other);
  registry.handler("aten::sub", sub);
  registry.handler("aten::rsub", rsub);
  registry.handler("aten::mul", mul);
  registry.handler("aten::neg", neg);
  registry.handler("aten::abs", abs);
  registry.handler("aten::sign", give_sign);
  registry.handler("aten::rsqrt", rsqrt);
  registry.handler("aten::addcmul", addcmul);
  registry.handler("aten::addcdiv", addcdiv);
  registry.handler("aten::lerp", lerp);
  for (const char* op : {"aten::clamp", "aten::clamp.Tensor", "aten::clamp_min", "aten::clamp_min.Tensor", "aten::clamp_max",
                         "aten::clamp_max.Tensor"})
    registry.handler(op, clamp);
  registry.handler("aten::maximum", pairwise<maximum>);
  registry.handler("aten::minimum", pairwise<minimum>);
  registry.handler("aten::fmax", ignoring_nan<maximum>);
  registry.handler("aten::fmin", ignoring_nan<minimum>);
  registry.handler("aten::nan_to_num", nan_to_num);
  registry.handler("aten::copysign", copysign);
  registry.handler("aten::heaviside", heaviside);
  registry.handler("aten::hypot", hypot);
}

}  // namespace compatcheck::handlers

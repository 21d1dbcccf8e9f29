// Division of tensors. Numbers' is in scalar.cpp.
#include "handlers/arithmetic_division.h"

#include <algorithm>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// Whether a remainder, unless it is 0, has another sign than the divisor.
Value signs_differ(Emission& e, const Value& rest, const Value& divisor) {
  const Value zero = e.scalar(rest.dtype, 0);
  if (const auto sign = sign_of(e, divisor)) return *sign > 0 ? less(e, rest, zero) : greater(e, rest, zero);
  if (e.at_least(9)) return less(e, multiply(e, e.node("Sign", {rest}), e.node("Sign", {divisor})), zero);
  return logical_and(e, not_equal(e, rest, zero), e.node("Xor", {less(e, rest, zero), less(e, divisor, zero)}));
}

// Floats without Mod: a double holds the quotient of shorter floats well enough to round it.
struct Wide {
  Value a, b, quotient;
};

Wide divided_in_double(Emission& e, const Value& a, const Value& b) {
  if (a.dtype == DType::f64)
    throw Refusal{"an exact quotient of doubles needs Mod and Round, which came with opset 11", "use opset 11"};
  if (!sign_of(e, b) && !e.at_least(9))
    throw Refusal{"divisors that may be 0 or infinite need Where, which came with opset 9", "use opset 9"};
  const Value x = e.cast(a, DType::f64);
  Value y = e.cast(b, DType::f64);
  if (!sign_of(e, b)) y = maximum(e, minimum(e, y, e.scalar(DType::f64, 1e300)), e.scalar(DType::f64, -1e300));  // infinite ones
  return {x, y, e.node("Floor", {divide(e, x, y)})};
}

// c10's div_floor_floating: halves are rounded at each step, and what rounding left beside a whole number goes up from above
// 0.5 on.
Value floored_by_rest(Emission& e, const Value& a, const Value& b, const Value& rest) {
  const Value x = widened(e, a), y = widened(e, b);
  const auto step = [&](const Value& value) { return rounded(e, value, a.dtype); };
  const Value divided = step(divide(e, step(subtract(e, x, rest)), y));
  const Value whole = step(subtract(e, divided, e.cast(signs_differ(e, rest, y), x.dtype))), floor = e.node("Floor", {whole});
  const Value above = greater(e, subtract(e, whole, floor), e.scalar(x.dtype, 0.5));
  return e.cast(where(e, above, add(e, floor, e.scalar(x.dtype, 1)), floor), a.dtype);
}

Value floored_floats(Emission& e, const Value& a, const Value& b) {
  if (e.build.compact(
          "the quotient may differ by 1 from PyTorch's where it is next to a whole number, and where a value is infinite"))
    return e.node("Floor", {divide(e, a, b)});
  Value quotient;
  if (e.at_least(11)) {
    quotient = floored_by_rest(e, a, b, e.node("Mod", {widened(e, a), widened(e, b)}, {{"fmod", 1}}));
  } else {
    const Wide wide = divided_in_double(e, a, b);
    if (a.dtype == DType::f16 && e.at_least(9)) {
      const Value rest = subtract(e, wide.a, multiply(e, truncated(e, divide(e, wide.a, wide.b)), wide.b));
      quotient = floored_by_rest(e, a, b, e.cast(rest, DType::f32));
    } else {
      quotient = e.cast(add(e, wide.quotient, subtract(e, wide.a, wide.a)), a.dtype);  // NaN of an infinite dividend
    }
  }
  return may_be_zero(e, b) && e.at_least(9) ? where(e, equal(e, b, e.scalar(b.dtype, 0)), divide(e, a, b), quotient) : quotient;
}

}  // namespace

Value floored_quotient(Emission& e, const Value& a, const Value& b, bool rounds_down) {
  if (is_floating(a)) return floored_floats(e, a, b);
  const Value quotient = divide(e, a, b);
  if (rounds_down || is_unsigned(a.dtype)) return quotient;
  const Value rest = subtract(e, a, multiply(e, quotient, b));
  return subtract(e, quotient, e.cast(signs_differ(e, rest, b), a.dtype));
}

Value truncated_quotient(Emission& e, const Value& a, const Value& b) {
  if (!is_floating(a)) return divide(e, a, b);
  return e.cast(truncated(e, rounded(e, divide(e, widened(e, a), widened(e, b)), a.dtype)), a.dtype);
}

Value remainder_of(Emission& e, const Value& a, const Value& b) {
  if (!is_floating(a)) {
    if (e.at_least(10)) return e.node("Mod", {a, b});
    const Value rest = truncated_remainder(e, a, b);
    if (is_unsigned(a.dtype)) return rest;
    return add(e, rest, multiply(e, b, e.cast(signs_differ(e, rest, b), a.dtype)));
  }
  if (!e.at_least(10)) {
    const Wide wide = divided_in_double(e, a, b);
    return e.cast(subtract(e, wide.a, multiply(e, wide.quotient, wide.b)), a.dtype);
  }
  const Value rest = e.node("Mod", {a, b}, {{"fmod", 1}});
  return where(e, signs_differ(e, rest, b), add(e, rest, b), rest);
}

Value truncated_remainder(Emission& e, const Value& a, const Value& b) {
  if (is_floating(a)) return e.node("Mod", {a, b}, {{"fmod", 1}});
  return subtract(e, a, multiply(e, divide(e, a, b), b));
}

bool is_natural(const Emission& e, std::string_view argument) {
  const symbolic::Fact& fact = e.call.fact(argument);
  const auto natural = [](const Dim& dim) { return provably_at_least(dim, 0); };
  if (const auto* number = fact.number()) return number->integer && natural(*number->integer);
  const auto* tensor = fact.tensor();
  if (tensor && tensor->dtype == DType::boolean) return true;
  return tensor && tensor->contents && std::ranges::all_of(*tensor->contents, natural);
}

namespace {

bool both_natural(const Emission& e) {
  const auto [a, b] = operand_names(e);
  return is_natural(e, a) && is_natural(e, b);
}

// ONNX Runtime refuses to divide integers by one number that is 0, even if there is nothing to divide.
std::pair<Value, Value> quotient_operands(Emission& e) {
  auto [a, b] = operands(e);
  const auto [dividend, divisor] = operand_names(e);
  const Shape *sizes = known_shape(e, dividend), *of_divisor = known_shape(e, divisor);
  const bool one = of_divisor && std::ranges::all_of(*of_divisor, [](const Dim& size) { return size.number() == 1; });
  if (is_floating(b) || !one || !may_be_zero(e, b)) return {a, b};
  if (!sizes || !may_be_empty(*sizes, all_axes(static_cast<std::int64_t>(sizes->size())))) return {a, b};
  const auto marked = e.build.plumbing();
  return {a, e.at_least(8) ? e.node("Expand", {b, e.node("Shape", {a})}) : e.node("Add", {e.node("Sub", {a, a}), b})};
}

void floor_divide(Emission& e) {
  const auto [a, b] = quotient_operands(e);
  e.give(floored_quotient(e, a, b, both_natural(e)));
}

void div(Emission& e) {
  if (e.given("rounding_mode")) {
    if (e.string("rounding_mode") == "floor") return floor_divide(e);
    const auto [a, b] = quotient_operands(e);
    return e.give(truncated_quotient(e, a, b));
  }
  const auto [a, b] = operand_names(e);
  e.give(divide(e, e.number_value(a, e.output_dtype()), e.number_value(b, e.output_dtype())));
}

void remainder(Emission& e) {
  const auto [a, b] = quotient_operands(e);
  e.give(remainder_of(e, a, b));
}

void fmod(Emission& e) {
  const auto [a, b] = quotient_operands(e);
  e.give(truncated_remainder(e, a, b));
}

}  // namespace

void register_arithmetic_division(Registry& registry) {
  for (const char* op : {"aten::div", "aten::true_divide", "aten::div.Tensor_mode"}) registry.handler(op, div);
  for (const char* op : {"aten::floor_divide", "aten::_floor_divide", "aten::floordiv"}) registry.handler(op, floor_divide);
  registry.handler("aten::remainder", remainder);
  registry.handler("aten::fmod", fmod);
}

}  // namespace compatcheck::handlers

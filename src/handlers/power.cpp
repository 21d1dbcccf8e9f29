// Powers.
#include "handlers/power.h"

#include <cmath>
#include <vector>

#include "handlers/arithmetic_division.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

Value ones_like(Emission& e, const Value& value) { return filled_like(e, value, value.dtype, 1); }

// Squares repeatedly, for an exponent that is known and not negative.
Value whole_power(Emission& e, Value base, std::int64_t exponent) {
  if (exponent == 0) return ones_like(e, base);
  Value product;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) product = product ? multiply(e, product, base) : base;
    if (exponent > 1) base = multiply(e, base, base);
  }
  return product;
}

// c10's powi: exponents are halved until none is left. Pow of integers goes through doubles in ONNX Runtime, and doesn't wrap.
Value looped_power(Emission& e, const Value& base, const Value& exponent) {
  const DType dtype = base.dtype;
  const Value zero = e.scalar(dtype, 0), one = e.scalar(dtype, 1), two = e.scalar(dtype, 2);
  const Value zeros = subtract(e, multiply(e, base, zero), multiply(e, exponent, zero));  // zeros of the result's shape
  const Value square = add(e, base, zeros), rest = add(e, maximum(e, exponent, zero), zeros), product = add(e, zeros, one);
  const auto body = e.build.begin_body();
  const std::vector<onnx::Dimension> single;
  e.build.body_input(DType::i64, false, single);
  e.build.body_input(DType::boolean, false, single);
  const Value s = e.build.body_input(dtype), r = e.build.body_input(dtype), p = e.build.body_input(dtype);
  const Value half = divide(e, r, two);
  const Value odd = subtract(e, r, multiply(e, half, two));
  // 1 for an even one, else the square: 1 + odd · (square - 1).
  const Value factor = add(e, multiply(e, odd, subtract(e, s, one)), one);
  e.build.end_body({e.build.again(e.scalar(DType::boolean, 1)), multiply(e, s, s), half, multiply(e, p, factor)});
  const std::int64_t bits = 8 * static_cast<std::int64_t>(ir::element_bytes(dtype));
  const Value made = e.build
                         .control("Loop", {e.build.integer(bits), e.scalar(DType::boolean, 1), square, rest, product},
                                  {{"body", body}}, {dtype, dtype, dtype}, {false, false, false})
                         .at(2);
  if (dtype == DType::u8) return made;
  const Value parity = subtract(e, exponent, multiply(e, divide(e, exponent, two), two));
  const Value of_minus_one = add(e, e.scalar(dtype, 1), multiply(e, negated(e, multiply(e, parity, parity)), two));
  const Value reciprocal =
      add(e, e.cast(equal(e, base, one), dtype), multiply(e, e.cast(equal(e, base, e.scalar(dtype, -1)), dtype), of_minus_one));
  return where(e, less(e, exponent, zero), reciprocal, made);
}

}  // namespace

Value power(Emission& e, const Value& base, const Value& exponent) {
  if (is_floating(base)) return e.node("Pow", {base, exponent});
  const auto known = constant_number(e, exponent);
  const auto* data = e.constant_of(exponent);
  if (known && data->dims.empty() && *known >= 0) return whole_power(e, base, static_cast<std::int64_t>(*known));
  const DType dtype = base.dtype;
  const bool narrow = dtype == DType::i8 || dtype == DType::i16 || dtype == DType::u8 ||
                      dtype == DType::u16;  // numbers that wrap at 32 bits wrap there
  if (narrow) return e.cast(looped_power(e, e.cast(base, DType::i32), e.cast(exponent, DType::i32)), dtype);
  return looped_power(e, base, exponent);
}

namespace {

// Returns the powers of float tensors that PyTorch doesn't compute by pow.
std::optional<Value> special_power(Emission& e, const Value& x, double exponent) {
  const auto reciprocal = [&](const Value& value) { return e.node("Reciprocal", {value}); };
  if (exponent == 0) return ones_like(e, x);
  if (exponent == 1) return x;
  if (exponent == 2) return multiply(e, x, x);
  if (exponent == 3) return multiply(e, multiply(e, x, x), x);
  const bool roots = x.dtype == DType::f32 || x.dtype == DType::f64;  // roots of -inf are NaN
  if (exponent == 0.5 && roots) return e.node("Sqrt", {x});
  if (exponent == -0.5 && roots) return reciprocal(e.node("Sqrt", {x}));
  if (exponent == -1) return reciprocal(x);
  if (exponent == -2) return reciprocal(multiply(e, x, x));
  return std::nullopt;
}

void pow(Emission& e) {
  // In place, too, it is computed in what both promote to.
  const bool numbers = e.call.fact("self").number() && e.call.fact("exponent").number();
  const bool promotes = e.call.op() == "aten::pow" && !numbers;
  const DType dtype = promotes ? result_type(e, {"self", "exponent"}) : e.output_dtype();
  e.give(power(e, e.number_value("self", dtype), e.number_value("exponent", dtype)));
}

// Raises to an exponent known when the model runs. PyTorch computes two exponents as roots, which are NaN for -inf.
Value open_power(Emission& e, const Value& base) {
  const Value exponent = e.number_value("exponent", base.dtype), made = e.node("Pow", {base, exponent});
  if (!e.variant("roots")) return made;
  const Value root = e.node("Sqrt", {base});
  const auto is = [&](double number) { return equal(e, exponent, e.scalar(base.dtype, number)); };
  return where(e, is(0.5), root, where(e, is(-0.5), e.node("Reciprocal", {root}), made));
}

void pow_number(Emission& e) {
  const Value base = e.tensor("self", e.output_dtype());
  const auto exponent = e.call.number("exponent");
  const auto made = is_floating(base) && exponent ? special_power(e, base, *exponent) : std::nullopt;
  if (made) return e.give(*made);
  is_floating(base) && !exponent ? e.give(open_power(e, base)) : pow(e);
}

void square(Emission& e) {
  const Value x = e.tensor("self", e.output_dtype());
  e.give(multiply(e, x, x));
}

void exp2(Emission& e) {
  const DType dtype = e.output_dtype();
  e.give(power(e, e.scalar(dtype, 2), e.tensor("self", dtype)));
}

void ldexp(Emission& e) {
  const DType dtype = e.output_dtype();
  const auto [self, by] = operand_names(e);
  // A power beyond the dtype times 0 is 0: doubles hold those of shorter floats, and a whole exponent of a thousand is as good as
  // more.
  const Value exponent = e.tensor(by);
  if (ir::is_floating(e.tensor(self).dtype) && !ir::is_floating(exponent.dtype) && dtype != DType::f64) {
    Value places = e.cast(exponent, DType::f64);
    if (ir::element_bytes(exponent.dtype) > 1)
      places = minimum(e, maximum(e, places, e.scalar(DType::f64, -1000)), e.scalar(DType::f64, 1000));
    return e.give(multiply(e, e.number_value(self, DType::f64), power(e, e.scalar(DType::f64, 2), places)));
  }
  e.give(multiply(e, e.number_value(self, dtype), power(e, e.scalar(dtype, 2), e.number_value(by, dtype))));
}

// In three steps: the power of two is no double where it takes the least double to the largest.
void ldexp_of_number(Emission& e) {
  const Value x = e.number_value("x", DType::f64), two = constant(e, x, 2);
  if (const auto known = e.call.integer("i"); known && *known >= -1000 && *known <= 1000)
    return e.give(times(e, x, std::ldexp(1.0, static_cast<int>(*known))));
  const Value i = e.number_value("i", DType::f64);
  const Value places = minimum(e, maximum(e, i, constant(e, x, -2100)), constant(e, x, 2100));
  const Value third = node(e, "Floor", times(e, places, 1.0 / 3)), step = power(e, two, third);
  const Value last = power(e, two, subtract(e, places, times(e, third, 2)));
  e.give(multiply(e, multiply(e, multiply(e, x, step), step), last));
}

}  // namespace

void register_power(Registry& registry) {
  for (const char* op : {"aten::pow", "aten::float_power"}) registry.handler(op, pow);
  registry.handler("aten::pow.Tensor_Scalar", pow_number, {"roots"});
  registry.handler("aten::float_power.Tensor_Scalar", pow_number);
  registry.handler("aten::square", square);
  registry.handler("aten::exp2", exp2);
  registry.handler("aten::ldexp", ldexp);
  registry.number_handler("aten::ldexp", ldexp_of_number);
}

}  // namespace compatcheck::handlers

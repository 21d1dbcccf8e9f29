// Bits of integers, and the same operators as logic on bools. Shifts.
#include <algorithm>

#include "handlers/arithmetic_division.h"
#include "handlers/families.h"
#include "handlers/power.h"

namespace compatcheck::handlers {
namespace {

// ---- Before opset 18: four bits at a time, looked up in a table

// The digits to base 16 in one more dimension, the lowest first; the sign is the highest bit.
Value digits(Emission& e, const Value& x, std::int64_t rank, std::int64_t count, bool has_sign) {
  Ints powers, sign(static_cast<std::size_t>(count), 0);
  for (std::int64_t i = 0; i < count; ++i) powers.push_back(std::int64_t{1} << 4 * i);
  sign.back() = 8;
  const Value sixteen = e.build.integer(16);
  Value low = x, negative;
  if (has_sign) {
    negative = e.cast(less(e, x, e.build.integer(0)), DType::i64);
    const auto least = static_cast<std::int64_t>(~std::uint64_t{0} << (4 * count - 1));
    low = subtract(e, x, multiply(e, negative, e.build.integer(least)));
  }
  const Value shifted = divide(e, e.build.unsqueeze(low, {rank}), e.integers(powers));
  const Value found = subtract(e, shifted, multiply(e, divide(e, shifted, sixteen), sixteen));
  return has_sign ? add(e, found, multiply(e, e.build.unsqueeze(negative, {rank}), e.integers(sign))) : found;
}

// Returns the value of eight digits from `first` on: ONNX Runtime sums integers in doubles, which hold no more than 53 bits.
Value value_of_digits(Emission& e, const Value& digits, std::int64_t axis, std::int64_t count, std::int64_t first) {
  Ints powers(static_cast<std::size_t>(count), 0);
  for (std::int64_t i = first; i < std::min(count, first + 8); ++i)
    powers[static_cast<std::size_t>(i)] = std::int64_t{1} << 4 * (i - first);
  return e.node("ReduceSum", {multiply(e, digits, e.integers(powers))}, {{"axes", Ints{axis}}, {"keepdims", 0}});
}

using OnBits = std::int64_t (*)(std::int64_t, std::int64_t);

Value by_table(Emission& e, const Value& a, const Value& b, OnBits on_bits) {
  const auto [left, right] = operand_names(e);
  const auto rank_of = [&](std::string_view name) { return e.call.fact(name).tensor() ? e.rank(name) : 0; };
  const auto count = static_cast<std::int64_t>(2 * ir::element_bytes(a.dtype));
  const bool has_sign = count == 16 || (a.dtype != DType::u8 && a.dtype != DType::u16 && a.dtype != DType::u32);
  const auto digits_of = [&](const Value& x, std::int64_t rank) {
    return digits(e, e.cast(x, DType::i64), rank, count, has_sign);
  };
  Ints table;
  for (std::int64_t i = 0; i < 256; ++i) table.push_back(on_bits(i / 16, i % 16));
  const Value high = multiply(e, digits_of(a, rank_of(left)), e.build.integer(16));
  const Value found = e.node("Gather", {e.integers(table), add(e, high, digits_of(b, rank_of(right)))}, {{"axis", 0}});
  const std::int64_t axis = std::max(rank_of(left), rank_of(right));
  const Value low = value_of_digits(e, found, axis, count, 0);
  if (count <= 8) return e.cast(low, a.dtype);
  const Value upper = multiply(e, value_of_digits(e, found, axis, count, 8), e.build.integer(std::int64_t{1} << 32));
  return e.cast(add(e, low, upper), a.dtype);
}

void on_bits(Emission& e, const char* on_bools, const char* on_integers, OnBits on_digits) {
  const auto [a, b] = operands(e);
  if (a.dtype == DType::boolean) return e.give(e.node(on_bools, {a, b}));
  e.give(e.at_least(18) ? e.node(on_integers, {a, b}) : by_table(e, a, b, on_digits));
}

void bitwise_and(Emission& e) {
  on_bits(e, "And", "BitwiseAnd", [](std::int64_t a, std::int64_t b) { return a & b; });
}
void bitwise_or(Emission& e) {
  on_bits(e, "Or", "BitwiseOr", [](std::int64_t a, std::int64_t b) { return a | b; });
}
void bitwise_xor(Emission& e) {
  on_bits(e, "Xor", "BitwiseXor", [](std::int64_t a, std::int64_t b) { return a ^ b; });
}

void bitwise_not(Emission& e) {
  const Value x = e.tensor("self");
  if (x.dtype == DType::boolean) return e.give(logical_not(e, x));
  if (e.at_least(18)) return e.give(e.node("BitwiseNot", {x}));
  e.give(subtract(e, e.scalar(x.dtype, -1), x));
}

// ---- Shifts

std::int64_t bits_of(DType dtype) { return 8 * static_cast<std::int64_t>(ir::element_bytes(dtype)); }

// 2 to each of 0 … count - 1 for those shifts, `otherwise` for all others.
Value power_of_two(Emission& e, const Value& shift, std::int64_t count, std::int64_t otherwise) {
  if (const auto known = constant_number(e, shift); known && e.constant_of(shift)->dims.empty())
    return *known >= 0 && *known < static_cast<double>(count)
               ? e.scalar(shift.dtype, static_cast<std::int64_t>(std::uint64_t{1} << static_cast<int>(*known)))
               : e.scalar(shift.dtype, otherwise);
  Ints powers;
  for (std::int64_t i = 0; i < count; ++i) powers.push_back(static_cast<std::int64_t>(std::uint64_t{1} << i));
  powers.push_back(otherwise);
  const Value table = e.build.constant(onnx::make_tensor(shift.dtype, {count + 1}, powers));
  const Value whole = e.cast(shift, DType::i64), last = e.build.integer(count);
  const Value inside = minimum(e, where(e, less(e, whole, e.build.integer(0)), last, whole), last);
  return e.node("Gather", {table, inside}, {{"axis", 0}});
}

void left_shift(Emission& e) {
  const auto [a, b] = operands(e);
  if (ir::is_floating(a.dtype)) return e.give(multiply(e, a, power(e, e.scalar(a.dtype, 2), b)));
  e.give(multiply(e, a, power_of_two(e, b, bits_of(a.dtype), 0)));
}

// Rounds down. A shift of all bits but the sign leaves 0 or -1.
void right_shift(Emission& e) {
  const auto [a, b] = operands(e);
  if (ir::is_floating(a.dtype)) return e.give(divide(e, a, power(e, e.scalar(a.dtype, 2), b)));
  const bool has_sign = a.dtype != DType::u8;
  const std::int64_t count = bits_of(a.dtype) - (has_sign ? 1 : 0);
  const Value divisor = power_of_two(e, b, count, 0);
  const auto known = constant_number(e, divisor);
  const Value zero = e.scalar(a.dtype, 0), one = e.scalar(a.dtype, 1);
  const auto beyond = [&] { return has_sign ? negated(e, e.cast(less(e, a, zero), a.dtype)) : multiply(e, a, zero); };
  if (known) return e.give(*known == 0 ? beyond() : floored_quotient(e, a, divisor));
  const Value quotient = divide(e, a, maximum(e, divisor, one));
  const Value rest = subtract(e, a, multiply(e, quotient, divisor));
  const Value floored = has_sign ? subtract(e, quotient, e.cast(less(e, rest, zero), a.dtype)) : quotient;
  e.give(where(e, equal(e, divisor, zero), beyond(), floored));
}

}  // namespace

void register_bitwise(Registry& registry) {
  for (const char* op : {"aten::bitwise_and", "aten::bitwise_and.Scalar", "aten::bitwise_and.Scalar_Tensor", "aten::__and__"})
    registry.handler(op, bitwise_and);
  for (const char* op : {"aten::bitwise_or", "aten::bitwise_or.Scalar", "aten::bitwise_or.Scalar_Tensor", "aten::__or__"})
    registry.handler(op, bitwise_or);
  for (const char* op : {"aten::bitwise_xor", "aten::bitwise_xor.Scalar", "aten::bitwise_xor.Scalar_Tensor", "aten::__xor__",
                         "aten::__xor__.Scalar"})
    registry.handler(op, bitwise_xor);
  registry.number_handler("aten::__and__", bitwise_and);
  registry.number_handler("aten::__or__", bitwise_or);
  registry.number_handler("aten::__xor__", bitwise_xor);
  registry.handler("aten::bitwise_not", bitwise_not);
  for (const char* op : {"aten::bitwise_left_shift", "aten::__lshift__"}) registry.handler(op, left_shift);
  for (const char* op : {"aten::bitwise_right_shift", "aten::__rshift__"}) registry.handler(op, right_shift);
}

}  // namespace compatcheck::handlers

#include "ir/quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace compatcheck::ir {

DType stored_dtype(DType quantized) {
  return quantized == DType::qi8 ? DType::i8 : quantized == DType::qi32 ? DType::i32 : DType::u8;
}

std::optional<IntegerRange> integer_range(DType quantized) {
  switch (quantized) {
    case DType::qi8: return IntegerRange{-128, 127};
    case DType::qu8: return IntegerRange{0, 255};
    case DType::qi32: return IntegerRange{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    default: return std::nullopt;
  }
}

bool quantizes_to_8_bits(DType dtype) { return dtype == DType::qi8 || dtype == DType::qu8; }

bool fits(const Quantizer& quantizer, DType quantized) {
  const auto range = integer_range(quantized);
  const auto is_scale = [](double scale) { return std::isfinite(scale) && scale > 0; };
  const auto is_integer = [&](std::int64_t number) { return !range || (number >= range->least && number <= range->greatest); };
  if (!quantizer.per_channel) return is_scale(quantizer.scale) && is_integer(quantizer.zero_point);
  const std::size_t zero_points =
      quantizer.float_zero_points.empty() ? quantizer.zero_points.size() : quantizer.float_zero_points.size();
  return quantizer.axis >= 0 && quantizer.scales.size() == zero_points && std::ranges::all_of(quantizer.scales, is_scale) &&
         std::ranges::all_of(quantizer.zero_points, is_integer) &&
         std::ranges::all_of(quantizer.float_zero_points, [](double number) { return std::isfinite(number); });
}

bool fits(const Quantizer& quantizer, DType quantized, std::span<const std::int64_t> sizes) {
  if (!fits(quantizer, quantized)) return false;
  if (!quantizer.per_channel) return true;
  const auto axis = static_cast<std::size_t>(quantizer.axis);
  return axis < sizes.size() && sizes[axis] == static_cast<std::int64_t>(quantizer.scales.size());
}

}  // namespace compatcheck::ir

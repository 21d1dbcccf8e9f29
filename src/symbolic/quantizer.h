// Scales and zero points of quantized tensors, as far as calls state them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "ir/constant.h"
#include "symbolic/call.h"

namespace compatcheck::symbolic {

// A number, or the only element of a tensor.
std::optional<double> number_argument(const Call& call, std::string_view argument);

// Whether all scales and zero points are known, the latter as integers.
bool states_numbers(const ir::Quantizer& quantizer);

// Null where the fact doesn't state all of them.
const ir::Quantizer* known_quantizer(const Fact& fact);

// A quantized tensor of which no quantizer is known.
bool lacks_scale(const Fact& fact);

// Returns the quantizer of operators whose result has a fixed one: "aten::sigmoid".
std::optional<ir::Quantizer> fixed_quantizer(std::string_view op, ir::DType dtype);

// The quantization of the sum or product of a quantized tensor and a number.
struct WithNumber {
  // The integers of the tensor stay, are mirrored within the dtype's range, are all 0, or are moved and scaled.
  enum class Integers : std::uint8_t { same, mirrored, zero, moved } integers = Integers::same;
  ir::Quantizer quantizer;
  std::int64_t added = 0;  // moved: to the steps above the zero point of the tensor
};
// Null where the tensor's scale or the number isn't known.
std::optional<WithNumber> with_number(const Call& call);

// Returns the quantizer of a quantized result of the call; null if it isn't known.
std::shared_ptr<const ir::Quantizer> quantizer_of(const Call& call, ir::DType dtype);

// The warning for operators that have `shifts_first` in the tables.
inline constexpr std::string_view other_rounding =
    "for an odd zero point, a value halfway between two steps may round to the other one: the result is off by one step";
// Whether that may happen in the call: a zero point is odd or not known, and a number is rounded to a step.
bool may_round_otherwise(const Call& call);

}  // namespace compatcheck::symbolic

// Tensors of PyTorch's quantized dtypes, while they become ONNX nodes.
#pragma once

#include "handlers/emission.h"

namespace compatcheck::handlers {

// The floats that a quantized tensor stands for.
Value dequantized(Emission& e, const Quantized& tensor);
Value dequantized(Emission& e, std::string_view argument);
const Quantized& quantized(const Emission& e, std::string_view argument);
// A constant of zeros.
bool known_zero(Emission& e, const Value& value);
// Floats as a quantized tensor of one scale and zero point, which `stored` (u8 or i8) holds.
Quantized quantize(Emission& e, const Value& floats, double scale, std::int64_t zero_point, DType stored);
// Quantizes by the call's scale and zero point, to the dtype of the call's result.
void give_quantized(Emission& e, const Value& floats, std::string_view scale, std::string_view zero_point);

// A part of packed parameters; None if it has none of that name.
Operand packed_part(Emission& e, const Operand& packed, std::string_view name);
Ints packed_ints(Emission& e, const Operand& packed, std::string_view name);
// Returns the rows of a packed table of 8 bits, whose zero points are floats, that indices of that rank name.
Value quantized_rows(Emission& e, const Operand& packed, const Value& indices, std::int64_t rank);
// A layer's weight as its steps (floats) and the scale of each: (out, in) and one number or (out). ONNX Runtime rounds what a
// DequantizeLinear gives to a MatMul once more, so these go without it.
struct PackedLinear {
  Value steps, scale, bias;
};  // scale absent: the steps are the weight; bias may be absent
PackedLinear packed_linear(Emission& e, const Operand& packed);
Value linear_on_floats(Emission& e, const Value& input, const PackedLinear& layer);
// PyTorch's dynamically quantized layer: the input is rounded to 8 bits of the range that it has.
Value linear_on_rounded(Emission& e, const Value& input, const PackedLinear& layer, bool reduce_range);
struct Rounded {
  Value steps, scale;
};
Rounded rounded_to_range(Emission& e, const Value& input, bool reduce_range);

}  // namespace compatcheck::handlers

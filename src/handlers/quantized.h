// Tensors of PyTorch's quantized dtypes, while they become ONNX nodes.
#pragma once

#include "handlers/emission.h"

namespace compatcheck::handlers {

// The floats that a quantized tensor stands for.
Value dequantized(Emission& e, const Quantized& tensor);
Value dequantized(Emission& e, std::string_view argument);
const Quantized& quantized(const Emission& e, std::string_view argument);
// Floats as a quantized tensor of one scale and zero point, which `stored` (u8 or i8) holds.
Quantized quantize(Emission& e, const Value& floats, double scale, std::int64_t zero_point, DType stored);
// With the call's scale and zero point, in the dtype that its result has.
void give_quantized(Emission& e, const Value& floats, std::string_view scale, std::string_view zero_point);

// A part of packed parameters; None if it has none of that name.
Operand packed_part(Emission& e, const Operand& packed, std::string_view name);
Ints packed_ints(Emission& e, const Operand& packed, std::string_view name);
struct PackedLinear { Value weight, bias; };   // floats (out, in); bias may be absent
PackedLinear packed_linear(Emission& e, const Operand& packed);
// PyTorch's dynamically quantized layer: the input rounded to the range that it has.
Value linear_on_rounded(Emission& e, const Value& input, const PackedLinear& layer, bool reduce_range);
Value rounded_to_range(Emission& e, const Value& input, bool reduce_range);

}  // namespace compatcheck::handlers

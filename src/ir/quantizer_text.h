// Quantized dtypes as options and ONNX files state them: "qu8(0.5,128)", or "qi8([0.5,0.25],[0,0],1)" with a scale and a zero
// point of each position along dimension 1.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ir/dtype.h"
#include "ir/quantizer.h"

namespace compatcheck::ir {

struct QuantizedDType {
  DType dtype = DType::qu8;
  std::shared_ptr<const Quantizer> quantizer;
};

std::string to_string(DType dtype, const Quantizer& quantizer);
// Nullopt for anything else, and for numbers that no such tensor has.
std::optional<QuantizedDType> quantized_dtype(std::string_view text);

}  // namespace compatcheck::ir

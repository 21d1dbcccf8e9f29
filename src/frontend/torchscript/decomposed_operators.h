// The operators of quantized_decomposed. PyTorch implements them in Python: torch/ao/quantization/fx/_decomposed.py, followed
// here step by step.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <string_view>
#include <vector>

namespace compatcheck::frontend::torchscript {

bool is_decomposed(std::string_view op);
// `op`: without overload. Throws ModelError for an operator that isn't implemented.
std::vector<c10::IValue> call_decomposed(const std::string& op, const std::vector<c10::IValue>& arguments);

}  // namespace compatcheck::frontend::torchscript

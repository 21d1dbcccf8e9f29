#include "onnx/runtime_types.h"

#include <algorithm>

namespace compatcheck::onnx {

bool has_kernel(const Schema& schema, std::string_view type_parameter, ir::DType dtype) {
  if (!schema.domain.empty()) return true;
  bool listed = false, served = false;
  for (const RuntimeTypes& kernel : std::ranges::equal_range(runtime_types(), schema.name, {}, &RuntimeTypes::op)) {
    if (kernel.since > schema.since || kernel.until < schema.since) continue;
    served = true;
    const auto parameter = std::ranges::find(kernel.parameters, type_parameter, &RuntimeTypes::Parameter::name);
    if (parameter == kernel.parameters.end()) continue;
    listed = true;
    if (std::ranges::find(parameter->dtypes, dtype) != parameter->dtypes.end()) return true;
  }
  // What it doesn't list it runs by the operator's function, among whose nodes hardly any has a kernel of bf16.
  return served ? !listed : dtype != ir::DType::bf16;
}

}  // namespace compatcheck::onnx

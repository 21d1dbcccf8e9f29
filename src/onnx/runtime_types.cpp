#include "onnx/runtime_types.h"

#include <algorithm>

namespace compatcheck::onnx {

Runs runs(const Schema& schema, int opset, std::string_view type_parameter, ir::DType dtype) {
  if (!schema.domain.empty()) return {};
  for (const RuntimeTypes& row : std::ranges::equal_range(runtime_types(), schema.name, {}, &RuntimeTypes::op)) {
    if (opset < row.since || row.until < opset) continue;
    const auto parameter = std::ranges::find(row.parameters, type_parameter, &RuntimeTypes::Parameter::name);
    const bool listed = parameter != row.parameters.end();
    return {!listed || std::ranges::find(parameter->dtypes, dtype) != parameter->dtypes.end(), row.since, row.until};
  }
  return {};
}

}  // namespace compatcheck::onnx

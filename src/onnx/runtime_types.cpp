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

int last_with_kernel(std::string_view op, int opset) {
  const auto rows = std::ranges::equal_range(runtime_types(), op, {}, &RuntimeTypes::op);
  if (rows.empty()) return opset;
  int last = 0;
  for (const RuntimeTypes& row : rows) {
    const bool runs = row.parameters.empty() ||
                      std::ranges::any_of(row.parameters, [](const auto& parameter) { return !parameter.dtypes.empty(); });
    if (runs && row.since <= opset) last = std::max(last, std::min(row.until, opset));
  }
  return last;
}

}  // namespace compatcheck::onnx

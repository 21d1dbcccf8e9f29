// The results of nodes whose operands are all known while converting: weights and constants.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "onnx/model.h"

namespace compatcheck::onnx {

struct Operand {
  ir::DType dtype = ir::DType::f32;
  std::vector<std::int64_t> dims;
  const TensorData* value = nullptr;  // null: it lies in the model file
};

struct Computation {
  ir::DType dtype = ir::DType::f32;
  std::vector<std::int64_t> dims;
  // The result, without a view, as those of the operands are; null where the node would fail as the model runs, or where
  // machines differ (the maximum with NaN).
  std::function<std::optional<TensorData>(std::span<const TensorData* const>)> run;
};

// Null for operators that aren't computed. Null too if the dims of the result depend on values that lie in the model file.
// `operands`: null for those that aren't given. Floats are computed in double and rounded after each node.
std::optional<Computation> computation_of(const Node& node, std::span<const Operand* const> operands);

}  // namespace compatcheck::onnx

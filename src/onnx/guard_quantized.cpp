// int8 tensors that move after they were dequantized, kept from ONNX Runtime's rewriting to uint8.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnx/cleanup.h"

namespace compatcheck::onnx {
namespace {

constexpr auto moving = std::to_array<std::string_view>({"MaxPool", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"});

class QuantizedGuard {
 public:
  explicit QuantizedGuard(Model& model) : model_(model) {
    for (const Initializer& initializer : model.initializers) constants_.emplace(initializer.value, &initializer.data);
  }

  void run(Graph& graph) {
    std::vector<Node> nodes;
    for (Node& node : graph.nodes) {
      for (NodeAttribute& attribute : node.attributes)
        if (auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) run(**body);
      const auto found = node.inputs.empty() ? made_.end() : made_.find(node.inputs[0]);
      if (found != made_.end() && node.domain.empty() && node.outputs.size() == 1 &&
          std::ranges::find(moving, node.op) != moving.end()) {
        Node dequantize = found->second;
        const ValueId moved = model_.add_value({.dtype = ir::DType::i8, .shape = {}, .name = {}});
        node.inputs[0] = dequantize.inputs[0];
        dequantize.inputs[0] = moved;
        dequantize.outputs = std::exchange(node.outputs, {moved});
        dequantize.name.clear();
        nodes.push_back(std::move(node));
        node = std::move(dequantize);
      }
      if (is_of_int8(node)) made_.insert_or_assign(node.outputs[0], node);
      nodes.push_back(std::move(node));
    }
    graph.nodes = std::move(nodes);
  }

 private:
  // True only for one scale, with which it doesn't matter where the elements are.
  bool is_of_int8(const Node& node) const {
    if (node.op != "DequantizeLinear" || !node.domain.empty() || node.inputs.size() < 3) return false;
    const auto scale = constants_.find(node.inputs[1]), zero = constants_.find(node.inputs[2]);
    return scale != constants_.end() && zero != constants_.end() && scale->second->dims.empty() &&
           zero->second->dtype == ir::DType::i8;
  }

  Model& model_;
  std::unordered_map<ValueId, const TensorData*> constants_;
  std::unordered_map<ValueId, Node> made_;  // output -> the DequantizeLinear that makes it
};

}  // namespace

void guard_quantized(Model& model) {
  if (model.opset >= 21) QuantizedGuard(model).run(model.graph);
}

}  // namespace compatcheck::onnx

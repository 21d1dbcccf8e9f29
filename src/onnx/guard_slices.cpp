// Slices of opset 10, kept from what onnx's shape inference makes of them.
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "onnx/cleanup.h"

namespace compatcheck::onnx {
namespace {

class SliceGuard {
 public:
  explicit SliceGuard(Model& model) : model_(model) {
    for (const Initializer& initializer : model.initializers) constants_.insert(initializer.value);
  }

  void run(Graph& graph) {
    std::vector<Node> nodes;
    for (Node& node : graph.nodes) {
      for (NodeAttribute& attribute : node.attributes)
        if (auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) run(**body);
      if (node.op == "Slice" && node.domain.empty() && constants_.contains(node.inputs[2])) compute_ends(node, nodes);
      nodes.push_back(std::move(node));
    }
    graph.nodes = std::move(nodes);
  }

 private:
  // The ends plus 0, as the difference of a size and itself: nothing folds that, as the size isn't known.
  void compute_ends(Node& slice, std::vector<Node>& before) {
    if (!first_) first_ = constant(0);
    const auto add = [&](const char* op, std::vector<ValueId> inputs) {
      const ValueId made = model_.add_value({.dtype = ir::DType::i64, .shape = {}, .name = {}});
      before.push_back({.op = op,
                        .domain = {},
                        .inputs = std::move(inputs),
                        .outputs = {made},
                        .attributes = {},
                        .name = {},
                        .origin = slice.origin});
      return made;
    };
    const ValueId size = add("Gather", {add("Shape", {slice.inputs[0]}), *first_});
    slice.inputs[2] = add("Add", {slice.inputs[2], add("Sub", {size, size})});
  }

  ValueId constant(std::int64_t number) {
    const ValueId value = model_.add_value({.dtype = ir::DType::i64, .shape = {}, .name = {}});
    model_.initializers.push_back({value, make_tensor(ir::DType::i64, {1}, std::vector<std::int64_t>{number})});
    return value;
  }

  Model& model_;
  std::unordered_set<ValueId> constants_;
  std::optional<ValueId> first_;
};

}  // namespace

void guard_slices(Model& model) {
  if (model.opset == 10 && has_open_sizes(model)) SliceGuard(model).run(model.graph);
}

}  // namespace compatcheck::onnx

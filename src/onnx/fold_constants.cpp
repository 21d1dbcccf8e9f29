// What follows from weights and constants alone is computed once: weight norms, standardised weights, gates in another order.
#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "onnx/cleanup.h"
#include "onnx/computation.h"
#include "onnx/weight_copy.h"

namespace compatcheck::onnx {
namespace {

constexpr std::uint64_t most_bytes = 16 << 20;  // of a weight that is read
constexpr std::uint64_t small_bytes = 4 << 10;  // of a result that may be larger than what it is made from

std::uint64_t bytes_of(ir::DType dtype, const std::vector<std::int64_t>& dims) {
  return static_cast<std::uint64_t>(TensorData{.dims = dims, .bytes = {}}.elements()) * ir::element_bytes(dtype);
}

// Which nodes can be folded. Small tensors that need no file are computed at once: others' dims follow from them.
class Foldable {
 public:
  explicit Foldable(const Model& model) {
    for (const Initializer& weight : model.initializers) {
      const TensorData& data = weight.data;
      if (data.view && (bytes_to_read(data) > most_bytes || data.elements() == 0)) continue;
      Operand& operand = known_[weight.value] = {data.dtype, data.dims, nullptr};
      if (!data.view && data.factors.empty()) operand.value = &data;
      if (data.view && bytes_to_read(data) <= small_bytes && data.view->storage->data.size() == data.view->storage->bytes)
        operand.value = &held_.emplace(weight.value, read_tensor(data, -1)).first->second;
    }
  }

  // Visits them in order, in bodies too, with what each computes.
  template <class Visit>
  void for_each(const Graph& graph, Visit&& visit) {
    for (const Node& node : graph.nodes) {
      for (const NodeAttribute& attribute : node.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) for_each(**body, visit);
      const bool leaves = std::ranges::any_of(
          node.outputs, [&](ValueId id) { return std::ranges::find(graph.outputs, id) != graph.outputs.end(); });
      if (leaves) continue;
      if (const auto computation = computation_in(node)) visit(node, *computation);
    }
  }

  // Of a node that for_each has visited, if it is held.
  const TensorData* value(ValueId id) const {
    const auto found = known_.find(id);
    return found == known_.end() ? nullptr : found->second.value;
  }

 private:
  std::optional<Computation> computation_in(const Node& node) {
    std::vector<const Operand*> operands;
    std::vector<const TensorData*> values;
    std::uint64_t largest = small_bytes;
    for (const ValueId input : node.inputs) {
      const auto found = known_.find(input);
      if (found == known_.end() && input != absent) return std::nullopt;
      const Operand* operand = operands.emplace_back(input == absent ? nullptr : &found->second);
      values.push_back(operand ? operand->value : nullptr);
      if (operand) largest = std::max(largest, bytes_of(operand->dtype, operand->dims));
    }
    auto computation = computation_of(node, operands);
    if (!computation || bytes_of(computation->dtype, computation->dims) > largest) return std::nullopt;
    Operand result{computation->dtype, computation->dims, nullptr};
    if (largest == small_bytes && std::ranges::find(values, nullptr) == values.end()) {
      auto made = computation->run(values);
      if (!made) return std::nullopt;
      result.value = &held_.emplace(node.outputs[0], std::move(*made)).first->second;
    }
    known_[node.outputs[0]] = result;
    return computation;
  }

  std::map<ValueId, Operand> known_;
  std::map<ValueId, TensorData> held_;
};

class Folding {
 public:
  Folding(Model& model, int weights) : model_(model), weights_(weights), foldable_(model) {
    for (const Initializer& weight : model.initializers) tensors_[weight.value] = &weight.data;
  }

  void run() {
    std::unordered_set<const Node*> folded;
    foldable_.for_each(model_.graph, [&](const Node& node, const Computation& computation) {
      if (auto result = result_of(node, computation)) {
        add(node, std::move(*result));
        folded.insert(&node);
      }
    });
    if (!folded.empty()) remove(model_.graph, folded);
    std::ranges::move(made_, std::back_inserter(model_.initializers));
  }

 private:
  std::optional<TensorData> result_of(const Node& node, const Computation& computation) const {
    if (const TensorData* held = foldable_.value(node.outputs[0])) return *held;
    std::vector<TensorData> read(node.inputs.size());
    std::vector<const TensorData*> operands;
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (node.inputs[i] != absent) {
        const auto found = tensors_.find(node.inputs[i]);
        if (found == tensors_.end()) return std::nullopt;  // it would have failed when the model runs
        read[i] = read_tensor(*found->second, weights_);
      }
      operands.push_back(&read[i]);
    }
    return computation.run(operands);
  }

  // It is called as the weight that it is made of; of several, as the largest.
  void add(const Node& node, TensorData made) {
    const ValueId value = node.outputs[0];
    std::int64_t most = -1;
    for (const ValueId input : node.inputs) {
      const auto found = tensors_.find(input);
      if (found == tensors_.end() || model_.values[input].name.empty()) continue;
      if (const std::int64_t elements = found->second->elements(); elements > most) {
        most = elements;
        model_.values[value].name = model_.values[input].name;
      }
    }
    tensors_[value] = &made_.emplace_back(value, std::move(made)).data;
  }

  static void remove(Graph& graph, const std::unordered_set<const Node*>& folded) {
    std::vector<Node> kept;
    for (Node& node : graph.nodes) {
      if (folded.contains(&node)) continue;
      for (NodeAttribute& attribute : node.attributes)
        if (auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) remove(**body, folded);
      kept.push_back(std::move(node));
    }
    graph.nodes = std::move(kept);
  }

  Model& model_;
  int weights_;
  Foldable foldable_;
  std::map<ValueId, const TensorData*> tensors_;
  std::deque<Initializer> made_;  // stays where it is as it grows
};

}  // namespace

void fold_constants(Model& model, int weights) { Folding(model, weights).run(); }

std::unordered_set<const Node*> foldable_nodes(const Model& model) {
  std::unordered_set<const Node*> nodes;
  Foldable(model).for_each(model.graph, [&](const Node& node, const Computation&) { nodes.insert(&node); });
  return nodes;
}

}  // namespace compatcheck::onnx

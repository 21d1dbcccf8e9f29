// Computes nodes whose operands are weights or constants once: weight norms, standardised weights, reordered
// gates.
#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "onnx/cleanup.h"
#include "onnx/computation.h"
#include "onnx/weight_copy.h"

namespace compatcheck::onnx {
namespace {

constexpr std::uint64_t most_bytes = 16 << 20;  // largest weight that is read, in the file and as a tensor
constexpr std::uint64_t small_bytes = 4 << 10;  // a result up to this size may be larger than its operands

std::uint64_t bytes_of(ir::DType dtype, const std::vector<std::int64_t>& dims) {
  const std::int64_t elements = TensorData{.dims = dims, .bytes = {}}.elements();
  if (elements > std::int64_t{1} << 48) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(elements) * ir::element_bytes(dtype);
}

// Returns the cost of reading a weight: an expanded one has few bytes in the file, a part of a large one few elements.
std::uint64_t bytes_read(const TensorData& data) { return std::max(bytes_to_read(data), bytes_of(data.dtype, data.dims)); }

// Which nodes can be folded. Small tensors that need no file are computed at once, because dims of others may depend on them.
class Foldable {
 public:
  // `excluded`: weights that aren't read.
  explicit Foldable(const Model& model, const std::unordered_set<ValueId>& excluded = {}) {
    for (const Initializer& weight : model.initializers) {
      const TensorData& data = weight.data;
      if (excluded.contains(weight.value) || data.elements() == 0 ||
          (data.view && (!data.view->storage || bytes_read(data) > most_bytes)))
        continue;
      Operand& operand = known_[weight.value] = {data.dtype, data.dims, nullptr};
      if (!model.values[weight.value].name.empty()) weights_.insert(weight.value);
      if (bytes_of(data.dtype, data.dims) > small_bytes) origins_[weight.value] = weight.value;
      if (!data.view && data.factors.empty()) operand.value = &data;
      if (data.view && bytes_read(data) <= small_bytes && data.view->storage->data.size() == data.view->storage->bytes)
        operand.value = &held_.emplace(weight.value, read_tensor(data, {})).first->second;
    }
  }

  // The largest weight that a value is made of, or is; absent if it is made of small ones alone, or isn't known.
  ValueId origin(ValueId value) const {
    const auto found = origins_.find(value);
    return found == origins_.end() ? absent : found->second;
  }
  std::uint64_t bytes(ValueId value) const {
    const Operand& operand = known_.at(value);
    return bytes_of(operand.dtype, operand.dims);
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

  // Returns a value of a node that for_each has visited, if it is held.
  const TensorData* value(ValueId id) const {
    const auto found = known_.find(id);
    return found == known_.end() ? nullptr : found->second.value;
  }

 private:
  std::optional<Computation> computation_in(const Node& node) {
    std::vector<const Operand*> operands;
    std::vector<const TensorData*> values;
    std::uint64_t largest = small_bytes;
    ValueId source = absent;
    for (const ValueId input : node.inputs) {
      const auto found = known_.find(input);
      if (found == known_.end() && input != absent) return std::nullopt;
      const Operand* operand = operands.emplace_back(input == absent ? nullptr : &found->second);
      values.push_back(operand ? operand->value : nullptr);
      if (!operand || bytes_of(operand->dtype, operand->dims) <= largest) continue;
      largest = bytes_of(operand->dtype, operand->dims);
      source = origin(input);
    }
    const bool weighs = std::ranges::any_of(node.inputs, [&](ValueId input) { return weights_.contains(input); });
    auto computation = computation_of(node, operands);
    if (!weighs && !(computation && may_be_of_weights(node, *computation))) return std::nullopt;
    if (!computation || bytes_of(computation->dtype, computation->dims) > largest) return std::nullopt;
    Operand result{computation->dtype, computation->dims, nullptr};
    if (largest == small_bytes && std::ranges::find(values, nullptr) == values.end()) {
      auto made = computation->run(values);
      if (!made) return std::nullopt;
      result.value = &held_.emplace(node.outputs[0], std::move(*made)).first->second;
    }
    known_[node.outputs[0]] = result;
    if (weighs) weights_.insert(node.outputs[0]);
    if (source != absent && bytes_of(result.dtype, result.dims) > small_bytes) origins_[node.outputs[0]] = source;
    return computation;
  }

  // Constants without a name may come from a handler, whose nodes count as those of its operator: only floats are folded.
  static bool may_be_of_weights(const Node& node, const Computation& computation) {
    static constexpr std::string_view usual[] = {"Add", "Sub", "Mul", "Div", "Transpose", "ReduceL2"};
    return computation.dtype == ir::DType::f32 && std::ranges::find(usual, node.op) != std::end(usual);
  }

  std::map<ValueId, Operand> known_;
  std::unordered_set<ValueId> weights_;  // the model's own, and what is made of them
  std::map<ValueId, ValueId> origins_;
  std::map<ValueId, TensorData> held_;
};

// Weights of which more would be left than there is: the weight itself stays and so do results, or these are larger in all.
std::unordered_set<ValueId> growing(const Model& model) {
  Foldable foldable(model);
  std::unordered_set<const Node*> folded;
  foldable.for_each(model.graph, [&](const Node& node, const Computation&) { folded.insert(&node); });
  std::map<ValueId, std::uint64_t> left;  // bytes, by the weight that they are made of
  std::unordered_set<ValueId> seen;
  for_each_node(model.graph, [&](const Node& node) {
    if (folded.contains(&node)) return;
    for (const ValueId input : node.inputs)
      if (const ValueId weight = foldable.origin(input); weight != absent && seen.insert(input).second)
        left[weight] += foldable.bytes(input);
  });
  std::unordered_set<ValueId> weights;
  for (const auto& [weight, bytes] : left)
    if (bytes > foldable.bytes(weight)) weights.insert(weight);
  return weights;
}

class Folding {
 public:
  Folding(Model& model, const WeightFile& weights) : model_(model), weights_(weights), foldable_(model, growing(model)) {
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
  std::optional<TensorData> result_of(const Node& node, const Computation& computation) {
    if (const TensorData* held = foldable_.value(node.outputs[0])) return *held;
    // Engines look at indices and other integers, never at the elements of a large weight.
    const bool looked_at = !ir::is_floating(computation.dtype) && !ir::is_complex(computation.dtype);
    if (weights_.read &&
        std::ranges::any_of(node.inputs, [&](ValueId input) { return is_made_up(input) || (!looked_at && is_large(input)); }))
      return unread(computation);
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

  // Null if the value has no storage.
  const ir::Storage* storage_of(ValueId input) const {
    const auto found = tensors_.find(input);
    return found != tensors_.end() && found->second->view ? found->second->view->storage.get() : nullptr;
  }

  // A result whose elements were never computed.
  bool is_made_up(ValueId input) const { return made_up_.contains(storage_of(input)); }

  bool is_large(ValueId input) const {
    const ir::Storage* storage = storage_of(input);
    return storage && storage->data.size() < storage->bytes && bytes_read(*tensors_.at(input)) > weights_.most_read;
  }

  // Each has a place of its own, from the end of the largest file on: none is taken for another.
  TensorData unread(const Computation& computation) {
    auto storage = std::make_shared<ir::Storage>();
    storage->bytes = std::max(bytes_of(computation.dtype, computation.dims), weights_.most_read + 1);
    storage->file_offset = std::numeric_limits<std::uint64_t>::max() - ++unread_;
    storage->in_file = true;
    made_up_.insert(storage.get());
    ir::TensorView view{
        .dtype = computation.dtype, .sizes = computation.dims, .strides = {}, .storage = storage, .quantizer = nullptr};
    std::int64_t stride = 1;
    for (std::size_t d = view.sizes.size(); d-- > 0; stride *= view.sizes[d]) view.strides.insert(view.strides.begin(), stride);
    return {.dtype = computation.dtype, .dims = computation.dims, .bytes = {}, .view = std::move(view)};
  }

  // The result has the name of the weight that it is made of; of several, of the largest.
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
  const WeightFile& weights_;
  Foldable foldable_;
  std::map<ValueId, const TensorData*> tensors_;
  std::uint64_t unread_ = 0;
  std::unordered_set<const ir::Storage*> made_up_;
  std::deque<Initializer> made_;  // stays where it is as it grows
};

}  // namespace

void fold_constants(Model& model, const WeightFile& weights) { Folding(model, weights).run(); }

std::vector<const TensorData*> weights_to_read(const Model& model, std::uint64_t most_read) {
  std::map<ValueId, const TensorData*> weights;
  for (const Initializer& weight : model.initializers) weights[weight.value] = &weight.data;
  std::vector<const TensorData*> found;
  const auto add = [&](ValueId input) {
    const auto weight = weights.find(input);
    if (weight == weights.end() || !weight->second->view || !weight->second->view->storage) return;
    if (bytes_to_read(*weight->second) <= most_read) found.push_back(weight->second);
  };
  const auto folded = foldable_nodes(model);
  std::unordered_map<ValueId, const Node*> convolutions;
  for_each_node(model.graph, [&](const Node& node) {
    if (folded.contains(&node)) std::ranges::for_each(node.inputs, add);
    if (node.op == "Conv") convolutions[node.outputs[0]] = &node;
    const auto conv = node.op == "BatchNormalization" ? convolutions.find(node.inputs[0]) : convolutions.end();
    if (conv == convolutions.end()) return;
    std::ranges::for_each(node.inputs, add);
    if (conv->second->inputs.size() > 2) add(conv->second->inputs[2]);
  });
  return found;
}

std::unordered_set<const Node*> foldable_nodes(const Model& model) {
  std::unordered_set<const Node*> nodes;
  Foldable(model, growing(model)).for_each(model.graph, [&](const Node& node, const Computation&) { nodes.insert(&node); });
  return nodes;
}

}  // namespace compatcheck::onnx

// Forms that ONNX Runtime's optimiser makes wrong at its default settings, replaced by equal ones that it leaves alone. Each was
// found by running models with and without its optimisations (tests/verify/check_traps.py does so for each); docs/onnxruntime.md
// is the list for people.
#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "onnx/cleanup.h"

namespace compatcheck::onnx {
namespace {

class Guard {
 public:
  explicit Guard(Model& model) : model_(model) {
    for (const Initializer& initializer : model.initializers) constants_.emplace(initializer.value, &initializer.data);
    for_each_node(model.graph, [&](Node& node) {
      for (const ValueId output : node.outputs)
        if (output != absent) makers_.emplace(output, &node);
    });
  }

  void run() {
    for_each_node(model_.graph, [&](Node& node) {
      if (!node.domain.empty()) return;
      if (node.op == "Div") normalization(node);
      if (node.op == "Mul") scale_of_one(node);
    });
    // These come last: they move nodes, and new constants move what `constants_` points to.
    for_each_node(model_.graph, [&](Node& node) {
      if (roots_.contains(node.outputs.front())) take_root_by_power(node);
    });
    gathers_by_range(model_.graph);
  }

 private:
  const Node* maker(ValueId value, const char* op) const {
    const auto found = makers_.find(value);
    return found != makers_.end() && found->second->domain.empty() && found->second->op == op ? found->second : nullptr;
  }

  // Of x / Sqrt(ReduceMean(Pow(…)) + epsilon): its Sqrt. Null for other quotients.
  const Node* root_of(const Node& quotient) const {
    const Node* root = maker(quotient.inputs[1], "Sqrt");
    const Node* sum = root ? maker(root->inputs[0], "Add") : nullptr;
    return sum && std::ranges::any_of(sum->inputs, [&](ValueId term) { return maker(term, "ReduceMean"); }) ? root : nullptr;
  }

  static bool drops_dims(const Node& mean) {
    const NodeAttribute* keep = mean.attribute("keepdims");
    return keep && std::get<std::int64_t>(keep->value) == 0;
  }

  // LayerNormFusion doesn't look at which side of the difference the mean stands, nor at whether the mean kept its dimension; in
  // double precision it and SimplifiedLayerNormFusion lose epsilon.
  void normalization(const Node& node) {
    const Node* root = root_of(node);
    if (!root) return;
    const Node* difference = maker(node.inputs[0], "Sub");
    const Node* second = difference ? maker(difference->inputs[1], "ReduceMean") : nullptr;
    const bool swapped = difference && maker(difference->inputs[0], "ReduceMean");
    if (swapped || (second && drops_dims(*second)) || model_.values[node.outputs[0]].dtype == ir::DType::f64)
      roots_.insert(root->outputs.front());
  }

  // They take the factor for one of as many elements as the last dimension has.
  void scale_of_one(const Node& node) {
    for (const std::size_t at : {0u, 1u}) {
      const Node* quotient = maker(node.inputs[at], "Div");
      const Node* root = quotient ? root_of(*quotient) : nullptr;
      const auto scale = constants_.find(node.inputs[1 - at]);
      if (root && scale != constants_.end() && scale->second->elements() == 1) roots_.insert(root->outputs.front());
    }
  }

  void take_root_by_power(Node& node) {
    if (node.op != "Sqrt" || !node.domain.empty()) return;
    node.op = "Pow";
    node.inputs.push_back(add_constant(model_.values[node.outputs[0]].dtype, 0.5));
  }

  // GatherToSliceFusion makes a Slice of a Gather by a Range: -1, where a reversal ends, is the last element to a Slice.
  void gathers_by_range(Graph& graph) {
    std::vector<Node> nodes;
    nodes.reserve(graph.nodes.size());
    for (Node& node : graph.nodes) {
      for (NodeAttribute& attribute : node.attributes)
        if (auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) gathers_by_range(**body);
      if (node.op == "Gather" && node.domain.empty() && ranges_.contains(node.inputs[1]) && !is_plain_[node.inputs[1]]) {
        const ValueId rows = model_.add_value({.dtype = model_.values[node.inputs[1]].dtype, .shape = {}, .name = {}});
        nodes.push_back({.op = "Reshape",
                         .domain = {},
                         .inputs = {node.inputs[1], all_rows()},
                         .outputs = {rows},
                         .attributes = {},
                         .name = {},
                         .origin = node.origin});
        node.inputs[1] = rows;
      }
      if (node.op == "Range" && node.domain.empty()) {
        ranges_.insert(node.outputs[0]);
        is_plain_[node.outputs[0]] = std::ranges::all_of(node.inputs, [&](ValueId input) { return is_constant(input); });
      }
      nodes.push_back(std::move(node));
    }
    graph.nodes = std::move(nodes);
  }

  bool is_constant(ValueId value) const {
    return std::ranges::find(model_.initializers, value, &Initializer::value) != model_.initializers.end();
  }

  ValueId all_rows() {
    if (rows_ == absent)
      rows_ = add({.dtype = ir::DType::i64, .shape = {}, .name = {}},
                  make_tensor(ir::DType::i64, {1}, std::vector<std::int64_t>{-1}));
    return rows_;
  }

  ValueId add_constant(ir::DType dtype, double number) {
    return add({.dtype = dtype, .shape = {}, .name = {}}, make_tensor(dtype, {}, std::vector<double>{number}));
  }

  ValueId add(ValueInfo info, TensorData data) {
    const ValueId value = model_.add_value(std::move(info));
    model_.initializers.push_back({value, std::move(data)});
    return value;
  }

  Model& model_;
  std::unordered_map<ValueId, const TensorData*> constants_;
  std::unordered_map<ValueId, const Node*> makers_;
  std::unordered_set<ValueId> roots_, ranges_;
  std::unordered_map<ValueId, bool> is_plain_;  // of a Range: known while converting, so the runtime folds it
  ValueId rows_ = absent;
};

}  // namespace

void guard_fusions(Model& model) { Guard(model).run(); }

}  // namespace compatcheck::onnx

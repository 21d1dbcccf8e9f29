// Forms that ONNX Runtime's optimizer makes wrong at its default settings, replaced by equal ones that it leaves alone. Each was
// found by running models with and without its optimizations (tests/verify/check_traps.py does so for each); docs/onnxruntime.md
// is the list for people.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "onnx/cleanup.h"

namespace compatcheck::onnx {
namespace {

class FusionGuard {
 public:
  explicit FusionGuard(Model& model) : model_(model) {
    for (const Initializer& initializer : model.initializers) constants_.emplace(initializer.value, &initializer.data);
    for_each_node(model.graph, [&](Node& node) {
      for (const ValueId output : node.outputs)
        if (output != absent) makers_.emplace(output, &node);
      const auto is_known = [&](ValueId input) {
        return input == absent || constants_.contains(input) || folded_.contains(input);
      };
      if (node.op == "Shape" || node.op == "Size" || std::ranges::all_of(node.inputs, is_known))
        folded_.insert(node.outputs.begin(), node.outputs.end());
    });
    dynamic_ = has_open_sizes(model);
  }

  void run() {
    for_each_node(model_.graph, [&](Node& node) {
      if (!node.domain.empty()) return;
      if (node.op == "Div") normalization(node);
      if (node.op == "Mul") scale_of_one(node);
      if (node.op == "Clip") clip_of_relu(node);
      if (node.op == "MatMul" && dynamic_) moved_batch(node);
      if (node.op == "Mul" || node.op == "Div") scaling(node);
      if (node.op == "MatMul") scaled_factors(node);
      if (node.op == "Mul") quotient_of_one(node);
      if (jumps(node)) rounding(node);
    });
    // These come last: they move nodes, and new constants move what `constants_` points to.
    for_each_node(model_.graph, [&](Node& node) {
      if (roots_.contains(node.outputs.front())) take_root_by_power(node);
      if (clipped_.contains(node.outputs.front())) take_relu_by_maximum(node);
    });
    keep_apart(model_.graph);
  }

 private:
  const Node* maker(ValueId value, const char* op) const {
    const auto found = makers_.find(value);
    return found != makers_.end() && found->second->domain.empty() && found->second->op == op ? found->second : nullptr;
  }

  // Returns the Sqrt of x / Sqrt(ReduceMean(Pow(…)) + epsilon); null for other quotients.
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

  // FuseReluClip reads the lower bound as f32 or f16: a model with another dtype doesn't load, and NaN loses the Relu. It turns
  // a Clip before opset 11 whose upper bound is below 0 into one that doesn't load.
  void clip_of_relu(const Node& node) {
    const Node* relu = maker(node.inputs[0], "Relu");
    if (!relu) return;
    const ir::DType dtype = model_.values[relu->outputs[0]].dtype;
    const bool half_or_single = dtype == ir::DType::f32 || dtype == ir::DType::f16;
    const NodeAttribute* upper = node.attribute("max");
    const bool below = upper && std::get<double>(upper->value) < 0;
    if (!half_or_single || below || is_nan(node.inputs.size() > 1 ? node.inputs[1] : absent))
      clipped_.insert(relu->outputs.front());
  }

  // A Transpose of the left operand that moves its first dimension, perhaps scaled since: MatmulTransposeFusion makes a
  // FusedMatMul that divides by a size of 0, which ends the process.
  void moved_batch(const Node& node) {
    ValueId value = node.inputs[0];
    for (const char* op : {"Mul", "Div"})
      if (const Node* scaled = maker(value, op); scaled && number_of(scaled->inputs[1])) value = scaled->inputs[0];
    const Node* turned = maker(value, "Transpose");
    const NodeAttribute* order = turned ? turned->attribute("perm") : nullptr;
    const auto* perm = order ? std::get_if<std::vector<std::int64_t>>(&order->value) : nullptr;
    if (perm && perm->size() > 2 && perm->front() != 0) moved_.emplace(node.outputs[0], perm->size());
  }

  // Returns the number of a constant of one element.
  std::optional<double> number_of(ValueId value) const {
    const auto found = constants_.find(value);
    if (found == constants_.end() || found->second->elements() != 1) return std::nullopt;
    const auto numbers = as_floats(*found->second);
    return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
  }

  bool is_nan(ValueId value) const {
    const auto number = number_of(value);
    return number && std::isnan(*number);
  }

  // MatMulScaleFusion drops an operand of another product that reads the first of two factors in a row.
  void scaled_twice(const Node& node) {
    for (const std::size_t at : {0u, 1u})
      for (const char* op : {"Mul", "Div"}) {
        const Node* first = number_of(node.inputs[1 - at]) ? maker(node.inputs[at], op) : nullptr;
        if (first && std::ranges::any_of(first->inputs, [&](ValueId factor) { return number_of(factor).has_value(); }))
          scaled_.insert(first->outputs[0]);
      }
  }

  // MatMulScaleFusion multiplies the product instead of the factor, which isn't the same for 0, infinity and NaN; nor does a
  // model load that it scales by infinity. The number that it multiplies doubles by is in single precision.
  void scaling(const Node& node) {
    const ir::DType dtype = model_.values[node.outputs[0]].dtype;
    if (dtype != ir::DType::f32 && dtype != ir::DType::f16 && dtype != ir::DType::f64) return;
    scaled_twice(node);
    const auto spoils = [&](ValueId value) {
      const auto number = number_of(value);
      if (number && (*number == 0 || !std::isfinite(*number))) return true;
      return dtype == ir::DType::f64 && (number ? !is_power_of_two(*number) : folded_.contains(value));
    };
    if (!spoils(node.inputs[1]) && (node.op == "Div" || !spoils(node.inputs[0]))) return;
    scaled_.insert(node.outputs[0]);
    for (const ValueId input : node.inputs)
      if (maker(before_transposes(input), "MatMul")) products_.insert(input);
  }

  // FusedMatMul transposes its factors itself, and its result is scaled before a Transpose as well as behind.
  ValueId before_transposes(ValueId value) const {
    while (const Node* turned = maker(value, "Transpose")) value = turned->inputs[0];
    return value;
  }

  void scaled_factors(const Node& product) {
    for (const ValueId input : product.inputs)
      if (scaled_.contains(before_transposes(input))) scaled_.insert(input);
  }

  // One of which several can be multiplied in single precision.
  static bool is_power_of_two(double number) {
    int exponent = 0;
    return std::abs(std::frexp(number, &exponent)) == 0.5 && std::abs(exponent) < 30;
  }

  // DivMulFusion makes y / x of (1 / x) * y, which isn't the same for integers.
  void quotient_of_one(const Node& node) {
    if (ir::is_floating(model_.values[node.outputs[0]].dtype)) return;
    for (const ValueId factor : node.inputs)
      if (const Node* quotient = maker(factor, "Div"); quotient && number_of(quotient->inputs[0]) == 1) quotients_.insert(factor);
  }

  // Operators whose result jumps: the last bit of an operand decides.
  static bool jumps(const Node& node) {
    constexpr std::array<std::string_view, 11> ops = {"Equal", "Less",  "LessOrEqual", "Greater", "GreaterOrEqual", "Floor",
                                                      "Ceil",  "Round", "Sign",        "ArgMax",  "ArgMin"};
    return node.domain.empty() && std::ranges::find(ops, node.op) != ops.end();
  }

  // Where a kernel takes no f16 ONNX Runtime gives it the f32 from before a Cast to f16, which has more digits. A Cast back to
  // f32 that stands in the model keeps it from that.
  void rounding(const Node& node) {
    const auto is_narrowed = [&](ValueId input) {
      const Node* narrowed = input == absent || model_.values[input].dtype != ir::DType::f16 ? nullptr : maker(input, "Cast");
      const auto from = narrowed ? model_.values[narrowed->inputs[0]].dtype : ir::DType::f16;
      return from == ir::DType::f32 || from == ir::DType::f64;
    };
    if (std::ranges::any_of(node.inputs, is_narrowed)) jumping_.insert(node.outputs[0]);
  }

  static Node cast(ValueId from, ValueId to, ir::DType dtype, const ir::Node* origin) {
    return {.op = "Cast",
            .domain = {},
            .inputs = {from},
            .outputs = {to},
            .attributes = {{"to", std::int64_t{data_type(dtype)}}},
            .name = {},
            .origin = origin};
  }

  void take_relu_by_maximum(Node& node) {
    if (node.op != "Relu" || !node.domain.empty() || ir::is_floating(model_.values[node.outputs[0]].dtype)) return;
    node.op = "Max";  // Sum takes no integers
    node.inputs.push_back(add_constant(model_.values[node.outputs[0]].dtype, 0));
  }

  // Nodes that a fusion would take for one get another between them: a Reshape, which copies nothing, or a Sum of one value.
  void keep_apart(Graph& graph) {
    std::vector<Node> nodes;
    nodes.reserve(graph.nodes.size());
    for (Node& node : graph.nodes) {
      for (NodeAttribute& attribute : node.attributes)
        if (auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) keep_apart(**body);
      const auto part = [&](ValueId& input, const char* op, std::vector<ValueId> more,
                            std::vector<NodeAttribute> attributes = {}) {
        const ValueId same = model_.add_value({.dtype = model_.values[input].dtype, .shape = {}, .name = {}});
        more.insert(more.begin(), input);
        nodes.push_back({.op = op,
                         .domain = {},
                         .inputs = more,
                         .outputs = {same},
                         .attributes = std::move(attributes),
                         .name = {},
                         .origin = node.origin});
        input = same;
      };
      // GatherToSliceFusion makes a Slice of a Gather by a Range: -1, where a reversal ends, is the last element to a Slice.
      if (node.op == "Gather" && node.domain.empty() && ranges_.contains(node.inputs[1]) && !is_plain_[node.inputs[1]])
        part(node.inputs[1], "Reshape", {all_rows()});
      if (node.op == "MatMul" && node.domain.empty())
        for (ValueId& input : node.inputs)
          if (scaled_.contains(input)) part(input, "Sum", {});
      if (node.op == "Mul" && node.domain.empty())
        for (ValueId& input : node.inputs)
          if (quotients_.contains(input))
            for (const char* op : {"Unsqueeze", "Squeeze"}) {  // works for any rank
              if (model_.opset < 13)
                part(input, op, {}, {{"axes", std::vector<std::int64_t>{0}}});
              else
                part(input, op, {zeros(1)});
            }
      if (const auto moved = node.outputs.empty() ? moved_.end() : moved_.find(node.outputs[0]); moved != moved_.end())
        part(node.inputs[0], "Reshape", {zeros(moved->second)});  // keeps the sizes
      if (node.op == "Clip" && node.domain.empty() && clipped_.contains(node.inputs[0]) &&
          ir::is_floating(model_.values[node.inputs[0]].dtype))
        part(node.inputs[0], "Sum", {});
      if (scaled_.contains(node.outputs[0]))
        for (ValueId& input : node.inputs)
          if (products_.contains(input)) part(input, "Sum", {});
      if (jumping_.contains(node.outputs[0])) {
        push_widened(nodes, std::move(node));
        continue;
      }
      if (node.op == "Range" && node.domain.empty()) {
        ranges_.insert(node.outputs[0]);
        is_plain_[node.outputs[0]] = std::ranges::all_of(node.inputs, [&](ValueId input) { return is_constant(input); });
      }
      nodes.push_back(std::move(node));
    }
    graph.nodes = std::move(nodes);
  }

  // In f32, cast before and after it.
  void push_widened(std::vector<Node>& nodes, Node node) {
    const auto in_single = [&](ValueId value) {
      return model_.add_value({.dtype = ir::DType::f32, .shape = model_.values[value].shape, .name = {}});
    };
    for (ValueId& input : node.inputs) {
      if (model_.values[input].dtype != ir::DType::f16) continue;
      const ValueId wide = in_single(input);
      nodes.push_back(cast(input, wide, ir::DType::f32, node.origin));
      input = wide;
    }
    const ValueId output = node.outputs[0];
    if (model_.values[output].dtype != ir::DType::f16) return nodes.push_back(std::move(node));
    const ir::Node* origin = node.origin;
    const ValueId wide = node.outputs[0] = in_single(output);
    nodes.push_back(std::move(node));
    nodes.push_back(cast(wide, output, ir::DType::f16, origin));
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

  ValueId zeros(std::size_t count) {
    return add({.dtype = ir::DType::i64, .shape = {}, .name = {}},
               make_tensor(ir::DType::i64, {static_cast<std::int64_t>(count)}, std::vector<std::int64_t>(count, 0)));
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
  std::unordered_set<ValueId> roots_, clipped_, scaled_, products_, ranges_, jumping_, quotients_;
  std::unordered_set<ValueId> folded_;              // values that ONNX Runtime may fold from constants and sizes at load time
  std::unordered_map<ValueId, bool> is_plain_;      // whether a Range is known while converting, so the runtime folds it
  std::unordered_map<ValueId, std::size_t> moved_;  // products whose left operand has moved dimensions → its rank
  ValueId rows_ = absent;
  bool dynamic_ = false;  // sizes are known when the model runs
};

}  // namespace

void guard_fusions(Model& model) { FusionGuard(model).run(); }

}  // namespace compatcheck::onnx

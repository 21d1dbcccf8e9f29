// What follows from weights alone is computed once: weight norms, standardised weights. PyTorch computes them in float, as is
// done here: each step is made in double and rounded.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>

#include "onnx/cleanup.h"
#include "onnx/weight_copy.h"

namespace compatcheck::onnx {
namespace {

constexpr std::int64_t most_elements = 1 << 22;  // of a weight that is read

using Dims = std::vector<std::int64_t>;

struct Array {
  Dims dims;
  std::vector<double> elements;
};

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::int64_t count(const Dims& dims) { return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>()); }

// Visits the elements of `dims` in order: their places by several other strides.
template <std::size_t N, class Visit>
void walk(const Dims& dims, const std::array<Dims, N>& strides, Visit&& visit) {
  Dims at(dims.size(), 0);
  std::array<std::int64_t, N> places{};
  for (std::int64_t i = 0, total = count(dims); i < total; ++i) {
    visit(i, places);
    for (std::size_t d = dims.size(); d-- > 0;) {
      for (std::size_t n = 0; n < N; ++n) places[n] += strides[n][d];
      if (++at[d] < dims[d]) break;
      for (std::size_t n = 0; n < N; ++n) places[n] -= strides[n][d] * dims[d];
      at[d] = 0;
    }
  }
}

// Strides of an array of dims `own` within a result of dims `to`: 0 where it stretches.
Dims stretched(const Dims& own, const Dims& to) {
  Dims strides(to.size(), 0);
  const Dims packed = strides_of(own);
  const std::size_t lead = to.size() - own.size();
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i] != 1) strides[lead + i] = packed[i];
  return strides;
}

// Only of an array and one that stretches to it: no result is larger than what it is made from.
std::optional<Dims> binary_dims(const Dims& a, const Dims& b) {
  const Dims &larger = count(a) >= count(b) ? a : b, &smaller = &larger == &a ? b : a;
  if (smaller.size() > larger.size()) return std::nullopt;
  for (std::size_t i = 0; i < smaller.size(); ++i)
    if (smaller[i] != 1 && smaller[i] != larger[larger.size() - smaller.size() + i]) return std::nullopt;
  return larger;
}

Array binary(const Array& a, const Array& b, Dims dims, const std::function<double(double, double)>& function) {
  Array made{std::move(dims), {}};
  made.elements.resize(static_cast<std::size_t>(count(made.dims)));
  walk<2>(made.dims, {stretched(a.dims, made.dims), stretched(b.dims, made.dims)}, [&](std::int64_t i, const auto& at) {
    made.elements[static_cast<std::size_t>(i)] =
        function(a.elements[static_cast<std::size_t>(at[0])], b.elements[static_cast<std::size_t>(at[1])]);
  });
  return made;
}

std::optional<Dims> transposed_dims(const Dims& dims, const std::vector<std::int64_t>& permutation) {
  if (permutation.size() != dims.size()) return std::nullopt;
  Dims made;
  for (const std::int64_t axis : permutation) made.push_back(dims[static_cast<std::size_t>(axis)]);
  return made;
}

Array transposed(const Array& array, Dims dims, const std::vector<std::int64_t>& permutation) {
  const Dims own = strides_of(array.dims);
  Array made{std::move(dims), std::vector<double>(array.elements.size())};
  Dims strides;
  for (const std::int64_t axis : permutation) strides.push_back(own[static_cast<std::size_t>(axis)]);
  walk<1>(made.dims, {strides}, [&](std::int64_t i, const auto& at) {
    made.elements[static_cast<std::size_t>(i)] = array.elements[static_cast<std::size_t>(at[0])];
  });
  return made;
}

// The axes of a reduction, all of them if none is named.
struct Reduced {
  std::vector<bool> axes;
  bool keeps = true;

  Dims dims(const Dims& from, bool keep) const {
    Dims made;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (!axes[i] || keep) made.push_back(axes[i] ? 1 : from[i]);
    return made;
  }
};

// The root of the sum of squares.
Array norm(const Array& array, const Reduced& reduced) {
  const Dims kept = reduced.dims(array.dims, true);
  Array made{reduced.dims(array.dims, reduced.keeps), std::vector<double>(static_cast<std::size_t>(count(kept)))};
  walk<1>(array.dims, {stretched(kept, array.dims)}, [&](std::int64_t i, const auto& at) {
    const double element = array.elements[static_cast<std::size_t>(i)];
    made.elements[static_cast<std::size_t>(at[0])] += element * element;
  });
  for (double& element : made.elements) element = std::sqrt(element);
  return made;
}

const std::function<double(double, double)>* binary_function(const std::string& op) {
  static const std::map<std::string, std::function<double(double, double)>, std::less<>> functions = {
      {"Add", std::plus<>()}, {"Sub", std::minus<>()}, {"Mul", std::multiplies<>()}, {"Div", std::divides<>()}};
  const auto found = functions.find(op);
  return found == functions.end() ? nullptr : &found->second;
}

bool is_read(const TensorData& data) {
  return data.dtype == ir::DType::f32 && data.factors.empty() && data.elements() <= most_elements &&
         (!data.view || data.view->contiguous());
}

// Which nodes can be folded, by the dims of the weights alone.
class Foldable {
 public:
  explicit Foldable(const Model& model) : model_(model) {
    for (std::size_t i = 0; i < model.initializers.size(); ++i) {
      const Initializer& weight = model.initializers[i];
      initializers_[weight.value] = i;
      if (is_read(weight.data)) dims_[weight.value] = weight.data.dims;
    }
  }

  // Visits them in order, in bodies too, with the dims of what each gives.
  template <class Visit>
  void for_each(const Graph& graph, Visit&& visit) {
    for (const Node& node : graph.nodes) {
      for (const NodeAttribute& attribute : node.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) for_each(**body, visit);
      const bool leaves = node.outputs.size() != 1 || std::ranges::find(graph.outputs, node.outputs[0]) != graph.outputs.end();
      if (leaves || !node.domain.empty()) continue;
      if (const auto dims = dims_of_result(node)) {
        dims_[node.outputs[0]] = *dims;
        visit(node, *dims);
      }
    }
  }

  std::optional<Reduced> reduction(const Node& node, std::size_t rank) const {
    std::vector<std::int64_t> axes;
    if (const auto* attribute = ints(node, "axes")) axes = *attribute;
    if (node.inputs.size() > 1 && node.inputs[1] != absent) {  // from opset 18
      const auto found = initializers_.find(node.inputs[1]);
      const auto known = found == initializers_.end() ? std::nullopt : as_ints(model_.initializers[found->second].data);
      if (!known) return std::nullopt;
      axes.assign(known->begin(), known->end());
    }
    if (node.attribute("noop_with_empty_axes") && axes.empty()) return std::nullopt;
    Reduced reduced{std::vector<bool>(rank, axes.empty())};
    for (const std::int64_t axis : axes) {
      if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
      reduced.axes[static_cast<std::size_t>(axis)] = true;
    }
    const NodeAttribute* keep = node.attribute("keepdims");
    const auto* keeps = keep ? std::get_if<std::int64_t>(&keep->value) : nullptr;
    reduced.keeps = !keeps || *keeps != 0;
    return reduced;
  }

  static const std::vector<std::int64_t>* ints(const Node& node, std::string_view name) {
    const NodeAttribute* attribute = node.attribute(name);
    return attribute ? std::get_if<std::vector<std::int64_t>>(&attribute->value) : nullptr;
  }

 private:
  std::optional<Dims> dims_of_result(const Node& node) const {
    const Dims* first = dims(node, 0);
    if (!first) return std::nullopt;
    if (binary_function(node.op)) {
      const Dims* second = dims(node, 1);
      return second ? binary_dims(*first, *second) : std::nullopt;
    }
    if (node.op == "Transpose") {
      const auto* permutation = ints(node, "perm");
      return permutation ? transposed_dims(*first, *permutation) : std::nullopt;
    }
    if (node.op != "ReduceL2") return std::nullopt;
    const auto reduced = reduction(node, first->size());
    return reduced ? std::optional(reduced->dims(*first, reduced->keeps)) : std::nullopt;
  }

  const Dims* dims(const Node& node, std::size_t input) const {
    const auto found = input < node.inputs.size() ? dims_.find(node.inputs[input]) : dims_.end();
    return found == dims_.end() ? nullptr : &found->second;
  }

  const Model& model_;
  std::map<ValueId, std::size_t> initializers_;
  std::map<ValueId, Dims> dims_;
};

class Folding {
 public:
  Folding(Model& model, int weights) : model_(model), weights_(weights), foldable_(model) {
    for (std::size_t i = 0; i < model.initializers.size(); ++i) constants_[model.initializers[i].value] = i;
  }

  void run() {
    std::unordered_set<const Node*> folded;
    foldable_.for_each(model_.graph, [&](const Node& node, const Dims& dims) {
      add(node, result_of(node, dims));
      folded.insert(&node);
    });
    if (!folded.empty()) remove(model_.graph, folded);
  }

 private:
  Array result_of(const Node& node, const Dims& dims) const {
    const Array first = array(node.inputs[0]);
    if (const auto* function = binary_function(node.op)) return binary(first, array(node.inputs[1]), dims, *function);
    if (node.op == "Transpose") return transposed(first, dims, *Foldable::ints(node, "perm"));
    return norm(first, foldable_.reduction(node, first.dims.size()).value());
  }

  Array array(ValueId value) const {
    const TensorData& data = model_.initializers[constants_.at(value)].data;
    return {data.dims, read_floats(data, weights_)};
  }

  // It is called as the weight that it is made of; of several, as the largest.
  void add(const Node& node, const Array& array) {
    const ValueId value = node.outputs[0];
    std::int64_t most = -1;
    for (const ValueId input : node.inputs) {
      const auto found = constants_.find(input);
      if (found == constants_.end() || model_.values[input].name.empty()) continue;
      if (const std::int64_t elements = model_.initializers[found->second].data.elements(); elements > most) {
        most = elements;
        model_.values[value].name = model_.values[input].name;
      }
    }
    constants_[value] = model_.initializers.size();
    model_.initializers.push_back({value, make_tensor(ir::DType::f32, array.dims, array.elements)});
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
  std::map<ValueId, std::size_t> constants_;
};

}  // namespace

void fold_weights(Model& model, int weights) { Folding(model, weights).run(); }

std::unordered_set<const Node*> foldable_nodes(const Model& model) {
  std::unordered_set<const Node*> nodes;
  Foldable(model).for_each(model.graph, [&](const Node& node, const Dims&) { nodes.insert(&node); });
  return nodes;
}

}  // namespace compatcheck::onnx

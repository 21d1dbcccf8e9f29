// What follows from weights alone is computed once: weight norms, standardised weights. PyTorch computes them in float, as is
// done here: each step is made in double and rounded.
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "onnx/cleanup.h"
#include "onnx/weight_copy.h"

namespace compatcheck::onnx {
namespace {

constexpr std::int64_t most_elements = 1 << 22;  // of a weight that is read

struct Array {
  std::vector<std::int64_t> dims;
  std::vector<double> elements;
};

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::int64_t count(const std::vector<std::int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

// Visits the elements of `dims` in order: their places by several other strides.
template <std::size_t N, class Visit>
void walk(const std::vector<std::int64_t>& dims, const std::array<std::vector<std::int64_t>, N>& strides, Visit&& visit) {
  std::vector<std::int64_t> at(dims.size(), 0);
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

// Strides of `array` within a result of these dims: 0 where it stretches.
std::vector<std::int64_t> stretched(const Array& array, const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 0);
  const auto own = strides_of(array.dims);
  const std::size_t lead = dims.size() - array.dims.size();
  for (std::size_t i = 0; i < own.size(); ++i)
    if (array.dims[i] != 1) strides[lead + i] = own[i];
  return strides;
}

// Only of an array and one that stretches to it: no result is larger than what it is made from.
std::optional<Array> binary(const Array& a, const Array& b, const std::function<double(double, double)>& function) {
  const Array& larger = a.elements.size() >= b.elements.size() ? a : b;
  const Array& smaller = &larger == &a ? b : a;
  if (smaller.dims.size() > larger.dims.size()) return std::nullopt;
  for (std::size_t i = 0; i < smaller.dims.size(); ++i)
    if (const auto size = smaller.dims[i]; size != 1 && size != larger.dims[larger.dims.size() - smaller.dims.size() + i])
      return std::nullopt;
  Array made{larger.dims, std::vector<double>(larger.elements.size())};
  walk<2>(made.dims, {stretched(a, made.dims), stretched(b, made.dims)}, [&](std::int64_t i, const auto& at) {
    made.elements[static_cast<std::size_t>(i)] =
        function(a.elements[static_cast<std::size_t>(at[0])], b.elements[static_cast<std::size_t>(at[1])]);
  });
  return made;
}

Array transposed(const Array& array, const std::vector<std::int64_t>& permutation) {
  const auto own = strides_of(array.dims);
  Array made{{}, std::vector<double>(array.elements.size())};
  std::vector<std::int64_t> strides;
  for (const std::int64_t axis : permutation) {
    made.dims.push_back(array.dims[static_cast<std::size_t>(axis)]);
    strides.push_back(own[static_cast<std::size_t>(axis)]);
  }
  walk<1>(made.dims, {strides}, [&](std::int64_t i, const auto& at) {
    made.elements[static_cast<std::size_t>(i)] = array.elements[static_cast<std::size_t>(at[0])];
  });
  return made;
}

// The root of the sum of squares.
std::optional<Array> norm(const Array& array, const std::vector<std::int64_t>& axes, bool keep) {
  std::vector<bool> reduced(array.dims.size(), axes.empty());
  for (const std::int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(reduced.size())) return std::nullopt;
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  Array kept{array.dims, {}};
  for (std::size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i]) kept.dims[i] = 1;
  kept.elements.resize(static_cast<std::size_t>(count(kept.dims)));
  walk<1>(array.dims, {stretched(kept, array.dims)}, [&](std::int64_t i, const auto& at) {
    const double element = array.elements[static_cast<std::size_t>(i)];
    kept.elements[static_cast<std::size_t>(at[0])] += element * element;
  });
  for (double& element : kept.elements) element = std::sqrt(element);
  if (keep) return kept;
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < reduced.size(); ++i)
    if (!reduced[i]) dims.push_back(array.dims[i]);
  kept.dims = std::move(dims);
  return kept;
}

class Folding {
 public:
  Folding(Model& model, int weights) : model_(model), weights_(weights) {
    for (std::size_t i = 0; i < model.initializers.size(); ++i) constants_[model.initializers[i].value] = i;
  }

  void run() {
    std::vector<Node> kept;
    for (Node& node : model_.graph.nodes) {
      const auto made = node.domain.empty() && node.outputs.size() == 1 ? result_of(node) : std::nullopt;
      if (made)
        add(node, *made);
      else
        kept.push_back(std::move(node));
    }
    model_.graph.nodes = std::move(kept);
  }

 private:
  std::optional<Array> result_of(const Node& node) const {
    for (const ValueId output : model_.graph.outputs)
      if (output == node.outputs[0]) return std::nullopt;
    static const std::map<std::string, std::function<double(double, double)>, std::less<>> functions = {
        {"Add", std::plus<>()}, {"Sub", std::minus<>()}, {"Mul", std::multiplies<>()}, {"Div", std::divides<>()}};
    if (const auto function = functions.find(node.op); function != functions.end()) {
      const auto a = array(node, 0), b = a ? array(node, 1) : std::nullopt;
      return a && b ? binary(*a, *b, function->second) : std::nullopt;
    }
    if (node.op == "Transpose") {
      const auto* permutation = ints(node, "perm");
      const auto given = permutation ? array(node, 0) : std::nullopt;
      return given && permutation->size() == given->dims.size() ? std::optional(transposed(*given, *permutation)) : std::nullopt;
    }
    return node.op == "ReduceL2" ? reduced(node) : std::nullopt;
  }

  std::optional<Array> reduced(const Node& node) const {
    std::vector<std::int64_t> axes;
    if (const auto* attribute = ints(node, "axes")) axes = *attribute;
    if (node.inputs.size() > 1 && node.inputs[1] != absent) {  // from opset 18
      const TensorData* data = constant(node.inputs[1]);
      const auto known = data ? as_ints(*data) : std::nullopt;
      if (!known) return std::nullopt;
      axes.assign(known->begin(), known->end());
    }
    const NodeAttribute *keep = node.attribute("keepdims"), *as_it_is = node.attribute("noop_with_empty_axes");
    if (as_it_is && axes.empty()) return std::nullopt;
    const auto given = array(node, 0);
    return given ? norm(*given, axes, !keep || std::get<std::int64_t>(keep->value) != 0) : std::nullopt;
  }

  static const std::vector<std::int64_t>* ints(const Node& node, std::string_view name) {
    const NodeAttribute* attribute = node.attribute(name);
    return attribute ? std::get_if<std::vector<std::int64_t>>(&attribute->value) : nullptr;
  }

  const TensorData* constant(ValueId value) const {
    const auto found = constants_.find(value);
    return found == constants_.end() ? nullptr : &model_.initializers[found->second].data;
  }

  std::optional<Array> array(const Node& node, std::size_t input) const {
    const TensorData* data = input < node.inputs.size() ? constant(node.inputs[input]) : nullptr;
    if (!data || data->dtype != ir::DType::f32 || !data->factors.empty() || data->elements() > most_elements ||
        (data->view && !data->view->contiguous()))
      return std::nullopt;
    return Array{data->dims, read_floats(*data, weights_)};
  }

  // It is called as the weight that it is made of; of several, as the largest.
  void add(const Node& node, const Array& array) {
    const ValueId value = node.outputs[0];
    std::int64_t most = -1;
    for (const ValueId input : node.inputs)
      if (const TensorData* data = constant(input); data && data->elements() > most && !model_.values[input].name.empty()) {
        most = data->elements();
        model_.values[value].name = model_.values[input].name;
      }
    constants_[value] = model_.initializers.size();
    model_.initializers.push_back({value, make_tensor(ir::DType::f32, array.dims, array.elements)});
  }

  Model& model_;
  int weights_;
  std::map<ValueId, std::size_t> constants_;
};

}  // namespace

void fold_weights(Model& model, int weights) { Folding(model, weights).run(); }

}  // namespace compatcheck::onnx

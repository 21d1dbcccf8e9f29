// Histograms: how many points lie in each bin, or the sum of their weights. A bin holds its lower edge, the last one both.
// Source: ATen/native/cpu/HistogramKernel.cpp.
#include <numeric>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "process/spell_count.h"

namespace compatcheck::handlers {
namespace {

struct Range {
  Value left, right;  // without dimensions
};

Value bin_numbers(Emission& e, std::int64_t count) {
  Ints places(static_cast<std::size_t>(Emission::few(count)));
  std::iota(places.begin(), places.end(), 0);
  return e.integers(places);
}

// Returns the range of a vector's elements, widened by `most` on both sides if all are equal, and 0 to 1 without elements.
Range range_of(Emission& e, const Value& x, double most) {
  const auto end = [&](const char* op, double beyond) {
    const Value padded = e.build.concat({x, e.build.constant(onnx::make_tensor(x.dtype, {1}, Doubles{beyond}))}, 0);
    return e.node(op, {padded}, {{"axes", Ints{0}}, {"keepdims", 0}});
  };
  const Value left = end("ReduceMin", infinity), right = end("ReduceMax", -infinity);
  const auto number = [&](double value) { return e.scalar(x.dtype, value); };
  const Value narrow = logical_not(e, less(e, left, right)), none = greater(e, left, right);
  return {where(e, none, number(0), where(e, narrow, subtract(e, left, number(most)), left)),
          where(e, none, number(1), where(e, narrow, add(e, right, number(most)), right))};
}

Range given_range(Emission& e, DType dtype, double left, double right, double most) {
  if (left == right) left -= most, right += most;
  return {e.scalar(dtype, left), e.scalar(dtype, right)};
}

// Finds the bin by division, as PyTorch computes it in the dtype of the elements.
void histc(Emission& e) {
  const DType dtype = e.output_dtype();
  const Value x = e.build.reshape(widened(e, e.tensor("self")), {-1});
  const std::int64_t bins = e.integer("bins");
  const double least = e.number("min"), most = e.number("max");
  const Range range = least == most ? range_of(e, x, 1) : given_range(e, x.dtype, least, most, 0);
  const auto in_dtype = [&](const Value& value) { return rounded(e, value, dtype); };
  const Value width = in_dtype(subtract(e, range.right, range.left)), off = in_dtype(subtract(e, x, range.left));
  const Value scaled = in_dtype(multiply(e, off, e.scalar(x.dtype, static_cast<double>(bins))));
  const Value place =
      minimum(e, e.node("Floor", {in_dtype(divide(e, scaled, width))}), e.scalar(x.dtype, static_cast<double>(bins - 1)));
  const Value outside = logical_or(e, logical_or(e, less(e, x, range.left), greater(e, x, range.right)), is_nan(e, x));
  const Value bin = e.cast(where(e, outside, e.scalar(x.dtype, -1), place), DType::i64);
  const Value holds = equal(e, e.build.unsqueeze(bin, {1}), bin_numbers(e, bins));
  e.give(e.node("ReduceSum", {e.cast(holds, x.dtype)}, {{"axes", Ints{0}}, {"keepdims", 0}}));
}

// ---- With edges

// torch.linspace: from both ends to the middle.
Value edges_between(Emission& e, const Range& range, std::int64_t bins) {
  const DType dtype = range.left.dtype;
  Ints up, down, first;
  for (std::int64_t i = 0; i <= Emission::few(bins); ++i) {
    up.push_back(i), down.push_back(bins - i);
    first.push_back(i < (bins + 1) / 2);
  }
  const auto vector = [&](DType type, const Ints& numbers) {
    return e.build.constant(onnx::make_tensor(type, {bins + 1}, numbers));
  };
  const Value step = divide(e, subtract(e, range.right, range.left), e.scalar(dtype, static_cast<double>(bins)));
  const Value from_left = add(e, range.left, multiply(e, step, vector(dtype, up)));
  const Value from_right = subtract(e, range.right, multiply(e, step, vector(dtype, down)));
  return where(e, vector(DType::boolean, first), from_left, from_right);
}

// Whether each of the points lies in each bin: [points, bins].
Value in_bins(Emission& e, const Value& points, const Value& edges, const Dim& edge_count) {
  if (!edge_count.is_number()) throw Refusal{"a histogram needs to know the number of edges", "state the size by --input"};
  const std::int64_t bins = *edge_count.number() - 1;
  const Value x = e.build.unsqueeze(points, {1}), lower = part(e, edges, 0, 0, bins), upper = part(e, edges, 0, 1, to_end);
  const Value last = equal(e, bin_numbers(e, bins), e.build.integer(bins - 1));
  const Value above = logical_not(e, logical_or(e, less(e, x, lower), is_nan(e, x)));
  const Value at_end = logical_and(e, last, logical_not(e, greater(e, x, upper)));
  return logical_and(e, above, logical_or(e, less(e, x, upper), at_end));
}

// The sum of weights in the bins of all dimensions, and as a density.
Value weight_in_bins(Emission& e, const Values& held, const Values& edges, DType dtype) {
  const auto dimensions = static_cast<std::int64_t>(held.size());
  Value all;
  for (std::int64_t i = 0; i < dimensions; ++i) {
    Ints others;
    for (std::int64_t other = 1; other <= dimensions; ++other)
      if (other != i + 1) others.push_back(other);
    const Value& bins = held[static_cast<std::size_t>(i)];
    const Value spread = others.empty() ? bins : e.build.unsqueeze(bins, others);
    all = i == 0 ? spread : logical_and(e, all, spread);
  }
  Value counted;
  if (e.given("weight")) {
    Ints others = all_axes(dimensions + 1);
    others.erase(others.begin());
    const Value weight = e.build.unsqueeze(e.build.reshape(e.tensor("weight", dtype), {-1}), others);
    counted = where(e, all, weight, e.scalar(dtype, 0));
  } else {
    counted = e.cast(all, dtype);
  }
  Value made = e.node("ReduceSum", {counted}, {{"axes", Ints{0}}, {"keepdims", 0}});
  if (!e.boolean("density")) return made;
  made = divide(e, made, e.node("ReduceSum", {made}, {{"axes", all_axes(dimensions)}, {"keepdims", 1}}));
  for (std::int64_t i = 0; i < dimensions; ++i) {
    const Value& bounds = edges[static_cast<std::size_t>(i)];
    const Value lengths = subtract(e, part(e, bounds, 0, 1, to_end), part(e, bounds, 0, 0, -1));
    Ints others = all_axes(dimensions);
    others.erase(others.begin() + i);
    made = divide(e, made, others.empty() ? lengths : e.build.unsqueeze(lengths, others));
  }
  return made;
}

Range range_at(Emission& e, const Value& points, std::size_t dimension) {
  if (!e.given("range")) return range_of(e, points, 0.5);
  const Doubles range = e.floats("range");
  if (range.size() < 2 * dimension + 2)
    throw Refusal{"PyTorch refuses this call: 'range' must hold two numbers for each dimension"};
  return given_range(e, points.dtype, range.at(2 * dimension), range.at(2 * dimension + 1), 0.5);
}

void histogram(Emission& e) {
  const DType dtype = e.output_dtype();
  const Value points = e.build.reshape(e.tensor("self"), {-1});
  const bool given = e.call.fact("bins").tensor() != nullptr;
  const Value edges = given ? e.tensor("bins", dtype) : edges_between(e, range_at(e, points, 0), e.integer("bins"));
  const Dim count = given ? e.shape("bins").front() : Dim(e.integer("bins") + 1);
  e.give(0, weight_in_bins(e, {in_bins(e, points, edges, count)}, {edges}, dtype));
  e.give(1, edges);
}

struct Bins {
  Values held;   // one for each dimension: which points lie in which bin
  Values edges;  // one for each dimension
};

// Points are rows of coordinates.
Bins joint_bins(Emission& e) {
  const DType dtype = e.dtype("self");
  const std::int64_t dimensions = e.known_size("self", -1);
  const Value rows = e.build.reshape(e.tensor("self"), {-1, dimensions});
  const auto* listed = e.operand("bins").list();
  const bool given = listed && !listed->items.empty() && listed->items.front().tensor();
  const Values tensors = given ? e.tensors("bins") : Values{};
  const auto one = e.call.integer("bins");
  const Ints counts = given ? Ints{} : one ? Ints{*one} : e.ints("bins");
  const auto needed = static_cast<std::size_t>(dimensions);
  if (given ? tensors.size() != needed : counts.size() != 1 && counts.size() != needed)
    throw Refusal{"PyTorch refuses this call: there must be bins for each of the " + spell_count(dimensions, "dimension")};
  Bins made;
  for (std::int64_t i = 0; i < dimensions; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Value points = e.build.reshape(part(e, rows, 1, i, i + 1), {-1});
    const std::int64_t bins = given ? 0 : counts.size() == 1 ? counts.front() : counts.at(at);
    made.edges.push_back(given ? e.cast(tensors.at(at), dtype) : edges_between(e, range_at(e, points, at), bins));
    const Dim count = given ? e.output_shape().at(at) + Dim(1) : Dim(bins + 1);
    made.held.push_back(in_bins(e, points, made.edges.back(), count));
  }
  return made;
}

void histogramdd(Emission& e) {
  const Bins bins = joint_bins(e);
  e.give(0, weight_in_bins(e, bins.held, bins.edges, e.output_dtype()));
  e.give_list(1, bins.edges);
}

void joint_counts(Emission& e) {
  const Bins bins = joint_bins(e);
  e.give(weight_in_bins(e, bins.held, bins.edges, e.output_dtype()));
}

void joint_edges(Emission& e) { e.give_list(0, joint_bins(e).edges); }

}  // namespace

void register_histogram(Registry& registry) {
  registry.handler("aten::histc", histc);
  registry.handler("aten::histogram", histogram);
  registry.handler("aten::histogramdd", histogramdd);
  registry.handler("aten::_histogramdd_bin_edges", joint_edges);
  for (const char* op : {"aten::_histogramdd_from_bin_cts", "aten::_histogramdd_from_bin_tensors"})
    registry.handler(op, joint_counts);
}

}  // namespace compatcheck::handlers

// Histograms: facts.
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

Facts histogram_counts(const Call& call) {
  return {tensor_fact(self_of(call).dtype, Shape{call.dim("bins").value_or(Dim::unknown())})};
}

// (histogram, edges): bins is their number, or the edges themselves.
Facts histogram(const Call& call) {
  const auto dtype = self_of(call).dtype;
  const auto* edges = call.tensor("bins");
  const Dim count = edges ? size_at(*edges, 0) - Dim(1) : call.dim("bins").value_or(Dim::unknown());
  return {tensor_fact(dtype, Shape{count}), tensor_fact(dtype, Shape{count + Dim(1)})};
}

// Returns the facts of a histogram of points in several dimensions: (histogram, list of edges). `bins` may be one number for all.
Facts joint_histogram(const Call& call) {
  constexpr std::int64_t most_dimensions = 64;
  const auto dtype = self_of(call).dtype;
  const auto bins = call.list("bins");
  const auto& points = self_of(call).shape;
  const auto dimensions = points && !points->empty() ? points->back().number() : std::nullopt;
  if (const auto count = call.dim("bins"); count && dimensions && *dimensions <= most_dimensions) {
    const auto times = static_cast<std::size_t>(*dimensions);
    return {tensor_fact(dtype, Shape(times, *count)), list_fact(Facts(times, tensor_fact(dtype, Shape{*count + Dim(1)})))};
  }
  if (!bins) return {tensor_fact(dtype, std::nullopt), list_of(tensor_fact(dtype, unknown_sizes(1)))};
  Shape shape;
  Facts edges;
  for (const Fact* bin : *bins) {
    const auto* given = bin->tensor();
    const auto* number = bin->number();
    shape.push_back(given ? size_at(*given, 0) - Dim(1) : number && number->integer ? *number->integer : Dim::unknown());
    edges.push_back(tensor_fact(dtype, Shape{shape.back() + Dim(1)}));
  }
  return {tensor_fact(dtype, std::move(shape)), list_fact(std::move(edges))};
}

template <std::size_t output>
Facts of_joint_histogram(const Call& call) {
  return {joint_histogram(call).at(output)};
}

}  // namespace

void register_histogram(Registry& registry) {
  registry.facts("aten::histc", histogram_counts);
  registry.facts("aten::histogram", histogram);
  registry.facts("aten::histogramdd", joint_histogram);
  registry.facts("aten::_histogramdd_bin_edges", of_joint_histogram<1>);
  for (const char* op : {"aten::_histogramdd_from_bin_cts", "aten::_histogramdd_from_bin_tensors"})
    registry.facts(op, of_joint_histogram<0>);
}

}  // namespace compatcheck::symbolic

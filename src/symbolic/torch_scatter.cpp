// torch_scatter's operators: facts.
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

// The source's sizes but for `size` groups along `axis`; and, of extremes, their places.
Facts reduced_along(const Call& call, std::optional<std::size_t> axis, const Dim& size) {
  const TensorFact& source = tensor_of(call, "src");
  std::optional<Shape> shape = source.shape;
  if (shape && axis && *axis < shape->size())
    (*shape)[*axis] = size;
  else if (shape)
    shape = unknown_sizes(shape->size());
  Facts facts{tensor_fact(source.dtype, shape)};
  if (call.node().outputs().size() > 1) facts.push_back(tensor_fact(ir::DType::i64, std::move(shape)));
  return facts;
}

void demand_index_rank(const Call& call, std::string_view index) {
  const auto rank = call.rank("src");
  if (rank) demand_rank(call, index, 1, *rank);
}

Dim group_count(const Call& call) {
  return call.is_none("dim_size") ? Dim::unknown() : call.dim("dim_size").value_or(Dim::unknown());
}

Facts scattered_segments(const Call& call) {
  demand_index_rank(call, "index");
  return reduced_along(call, dim_index(call, "dim", tensor_of(call, "src")), group_count(call));
}

std::optional<std::size_t> last_dimension(const Call& call, std::string_view index) {
  const auto rank = call.rank(index);
  return rank && *rank > 0 ? std::optional(*rank - 1) : std::nullopt;
}

Facts sorted_segments(const Call& call) {
  demand_index_rank(call, "index");
  return reduced_along(call, last_dimension(call, "index"), group_count(call));
}

Facts pointed_segments(const Call& call) {
  demand_index_rank(call, "indptr");
  const auto axis = last_dimension(call, "indptr");
  return reduced_along(call, axis, axis ? size_at(tensor_of(call, "indptr"), *axis) - Dim(1) : Dim::unknown());
}

Facts gathered_by_index(const Call& call) {
  demand_index_rank(call, "index");
  const auto axis = last_dimension(call, "index");
  return reduced_along(call, axis, axis ? size_at(tensor_of(call, "index"), *axis) : Dim::unknown());
}

Facts gathered_by_pointers(const Call& call) {
  demand_index_rank(call, "indptr");
  return reduced_along(call, last_dimension(call, "indptr"), Dim::unknown());
}

}  // namespace

void register_torch_scatter(Registry& registry) {
  for (const char* op : {"torch_scatter::scatter_sum", "torch_scatter::scatter_mul", "torch_scatter::scatter_mean",
                         "torch_scatter::scatter_min", "torch_scatter::scatter_max"})
    registry.facts(op, scattered_segments);
  for (const char* op : {"torch_scatter::segment_sum_coo", "torch_scatter::segment_mean_coo", "torch_scatter::segment_min_coo",
                         "torch_scatter::segment_max_coo"})
    registry.facts(op, sorted_segments);
  for (const char* op : {"torch_scatter::segment_sum_csr", "torch_scatter::segment_mean_csr", "torch_scatter::segment_min_csr",
                         "torch_scatter::segment_max_csr"})
    registry.facts(op, pointed_segments);
  registry.facts("torch_scatter::gather_coo", gathered_by_index);
  registry.facts("torch_scatter::gather_csr", gathered_by_pointers);
}

}  // namespace compatcheck::symbolic

// Order along a dimension: facts.
#include "symbolic/sort.h"

#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/reduction.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Facts sorted_with_places(const Call& call) { return like_and(self_of(call), DType::i64); }
Facts order(const Call& call) { return {tensor_fact(DType::i64, self_of(call).shape)}; }

// `k` is at most the size of `dim`.
void demand_so_many(const Call& call, std::int64_t least) {
  const TensorFact& self = self_of(call);
  const auto dim = dim_index(call, "dim", self);
  const auto k = call.dim("k");
  if (!dim || !k) return;
  Demands demands;
  demands.at_least(*k, least, "k");
  demands.at_most(*k, self.shape->empty() ? Dim(1) : (*self.shape)[*dim], "k");
  demands.hold();
}

Facts kthvalue(const Call& call) {
  demand_so_many(call, 1);
  return values_and_indices(call);
}

Facts topk(const Call& call) {
  demand_so_many(call, 0);
  const TensorFact& self = self_of(call);
  const auto dim = dim_index(call, "dim", self);
  std::optional<Shape> shape = self.shape;
  if (shape && !shape->empty() && dim)
    (*shape)[*dim] = call.dim("k").value_or(Dim::unknown());
  else if (shape && !dim)
    shape = unknown_sizes(shape->size());
  return {tensor_fact(self.dtype, shape), tensor_fact(DType::i64, shape)};
}

// Boundaries for all, or for each row: then the dimensions before the last are the same.
void demand_boundaries(const Call& call) {
  const bool rows = call.has("sorted_sequence");
  const char* boundaries = rows ? "sorted_sequence" : "boundaries";
  const auto &sorted = tensor_of(call, boundaries).shape, &self = self_of(call).shape;
  Demands demands;
  if (!rows || call.fact("self").number() || (self && self->empty()))
    demands.rank(call, boundaries, 1, 1);
  else if (sorted && sorted->empty())
    demands.broken("the rank of " + std::string(boundaries) + " must be at least 1, but is 0");
  else if (sorted && self && sorted->size() != 1) {
    demands.rank(call, "self", sorted->size(), sorted->size());
    for (std::size_t i = 0; i + 1 < sorted->size() && self->size() == sorted->size(); ++i)
      demands.equal((*self)[i], (*sorted)[i], "dimension " + std::to_string(i) + " of self");
  }
  demands.hold();
}

}  // namespace

Facts searched(const Call& call) {
  demand_boundaries(call);
  const auto narrow = call.boolean("out_int32");
  const auto dtype = narrow ? std::optional(*narrow ? DType::i32 : DType::i64) : std::nullopt;
  return {tensor_fact(dtype, call.fact("self").number() ? std::optional(Shape{}) : self_of(call).shape)};
}

void register_sort(Registry& registry) {
  registry.facts("aten::sort", sorted_with_places);
  registry.facts("aten::argsort", order);
  registry.facts("aten::topk", topk);
  registry.facts("aten::kthvalue", kthvalue);
  registry.facts("aten::searchsorted", searched);
}

}  // namespace compatcheck::symbolic

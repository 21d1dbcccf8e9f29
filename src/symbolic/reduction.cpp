// Reductions that no rule word describes: facts, and PyTorch's requirements.
#include "symbolic/reduction.h"

#include <algorithm>

#include "symbolic/demands.h"
#include "symbolic/emptiness.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"

namespace compatcheck::symbolic {

using ir::DType;

std::optional<Shape> reduced_sizes(const Call& call) {
  const auto* tensor = first_tensor(call);
  const auto keep = call.has("keepdim") ? call.boolean("keepdim") : std::optional(false);
  if (!tensor || !keep) return std::nullopt;
  if (!tensor->shape) return call.is_none("dim") && !*keep ? std::optional(Shape{}) : std::nullopt;
  if (call.is_none("dim")) return reduce_shape(*tensor->shape, std::nullopt, *keep);
  const auto dims = call.ints("dim");
  if (!dims) return std::nullopt;
  return reduce_shape(*tensor->shape, dims->empty() ? std::nullopt : dims, *keep);
}

std::optional<Shape> sizes_to_reduce(const Call& call) {
  const auto& shape = self_of(call).shape;
  const auto dims = call.is_none("dim") ? std::nullopt : call.ints("dim");
  if (!shape || (!dims && !call.is_none("dim"))) return std::nullopt;
  if (!dims || dims->empty()) return shape;
  Shape sizes;
  for (const std::int64_t dim : *dims)
    if (const auto at = wrap_dim(dim, shape->size()); at && *at < shape->size()) sizes.push_back((*shape)[*at]);
  return sizes;
}

Facts values_and_indices(const Call& call) {
  const auto shape = reduced_sizes(call);
  if (!call.has("dim")) return {tensor_fact(self_of(call).dtype, shape)};
  return {tensor_fact(self_of(call).dtype, shape), tensor_fact(DType::i64, shape)};
}

namespace {

// A tensor without elements has no greatest one.
Verdict has_extremes(const Call& call) {
  Demands demands;
  const auto sizes = call.has("other") ? std::nullopt : sizes_to_reduce(call);
  if (sizes && std::ranges::any_of(*sizes, [](const Dim& size) { return size.number() == 0; }))
    demands.broken("a dimension of self that is reduced has no elements");
  return demands.verdict();
}

Facts pair_of_values(const Call& call) {
  const auto shape = reduced_sizes(call);
  return {tensor_fact(self_of(call).dtype, shape), tensor_fact(self_of(call).dtype, shape)};
}

// max and min: of all, along a dimension, or of two tensors.
Facts extreme(const Call& call) {
  if (!call.has("other")) return values_and_indices(call);
  Promotion promotion;
  promotion.add(call.fact("self"));
  promotion.add(call.fact("other"));
  return {tensor_fact(promotion.result(), broadcast(self_of(call).shape, tensor_of(call, "other").shape))};
}

// Nodes that compute NaN, true or false of nothing are needed where a dimension that is reduced may be empty.
Verdict reduces_elements(const Call& call) {
  const auto sizes = sizes_to_reduce(call);
  const bool all = sizes && std::ranges::all_of(*sizes, [](const Dim& size) { return provably_at_least_if_empty(size, 1); });
  return {.truth = all ? Truth::yes : Truth::no};
}

Facts count_nonzero(const Call& call) { return {tensor_fact(DType::i64, reduced_sizes(call))}; }

Facts trace(const Call& call) {
  const auto dtype = self_of(call).dtype;
  const bool integers = dtype && (ir::is_integral(*dtype) || *dtype == DType::boolean);
  return {tensor_fact(integers ? std::optional(DType::i64) : dtype, Shape{})};
}

Facts hash_tensor(const Call& call) { return {tensor_fact(DType::u64, reduced_sizes(call))}; }

// Along `axis`, one result for each segment; the segments' batch dimensions lead.
Facts segment_reduce(const Call& call) {
  const TensorFact& data = tensor_of(call, "data");
  const bool by_length = !call.is_none("lengths");
  const TensorFact& segments = tensor_of(call, by_length ? "lengths" : "offsets");
  const auto axis = call.integer("axis");
  if (!data.shape || !segments.shape || segments.shape->empty() || !axis || *axis < 0 ||
      static_cast<std::size_t>(*axis) >= data.shape->size())
    return {tensor_fact(data.dtype, std::nullopt)};
  Shape shape = *data.shape;
  shape[static_cast<std::size_t>(*axis)] = segments.shape->back() - Dim(by_length ? 0 : 1);
  return {tensor_fact(data.dtype, std::move(shape))};
}

// A sum, of integers i64, unless the sizes are the same already.
Facts sum_to_size(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto size = call.dims("size");
  if (self.shape) demand_broadcast(size, *self.shape, "size");
  auto dtype = self.dtype;
  if (dtype && !ir::is_floating(*dtype) && !ir::is_complex(*dtype)) {
    const auto equal = [](const Dim& a, const Dim& b) { return provably_equal(a, b); };
    // Without dimensions it is a sum, too.
    const bool unchanged = size && self.shape && !size->empty() &&
                           std::equal(size->begin(), size->end(), self.shape->begin(), self.shape->end(), equal);
    const bool summed = size && self.shape &&
                        (size->empty() || size->size() != self.shape->size() ||
                         !std::equal(size->begin(), size->end(), self.shape->begin(),
                                     [](const Dim& a, const Dim& b) { return !provably_different(a, b); }));
    if (!unchanged) dtype = summed ? std::optional(DType::i64) : std::nullopt;
  }
  return {tensor_fact(dtype, size)};
}

}  // namespace

void register_reduction(Registry& registry) {
  registry.facts("aten::aminmax", pair_of_values);
  for (const char* op : {"aten::max", "aten::min"}) registry.facts(op, extreme);
  registry.facts("aten::count_nonzero", count_nonzero);
  registry.facts("aten::trace", trace);
  registry.facts("aten::hash_tensor", hash_tensor);
  registry.facts("aten::segment_reduce", segment_reduce);
  registry.facts("aten::sum_to_size", sum_to_size);
  registry.condition("reduces_elements", reduces_elements);
  registry.condition("has_extremes", has_extremes);
}

}  // namespace compatcheck::symbolic

// The rule words of `facts:` in the tables (docs/mappings.md).
#include "symbolic/families.h"
#include "symbolic/pointwise.h"
#include "symbolic/promotion.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

std::optional<Shape> shape_of(const TensorFact* tensor) { return tensor ? tensor->shape : std::nullopt; }
std::optional<DType> dtype_of(const TensorFact* tensor) { return tensor ? tensor->dtype : std::nullopt; }

std::optional<DType> as_float(std::optional<DType> dtype) { return dtype ? std::optional(to_float(*dtype)) : std::nullopt; }

std::optional<DType> as_sum(std::optional<DType> dtype) {
  if (dtype && (ir::is_integral(*dtype) || *dtype == DType::boolean)) return DType::i64;
  return dtype;
}

Facts same(const Call& call) {
  const auto* tensor = first_tensor(call);
  return {tensor_fact(dtype_of(tensor), shape_of(tensor))};
}

Facts same_float(const Call& call) {
  const auto* tensor = first_tensor(call);
  return {tensor_fact(as_float(dtype_of(tensor)), shape_of(tensor))};
}

Facts test(const Call& call) { return {tensor_fact(DType::boolean, shape_of(first_tensor(call)))}; }

Facts pointwise(const Call& call) { return {pointwise_fact(call, pointwise_operands(call))}; }

Facts pointwise_float(const Call& call) {
  auto operands = pointwise_operands(call);
  operands.dtype = as_float(operands.dtype);
  return {pointwise_fact(call, std::move(operands))};
}

Facts comparison(const Call& call) { return {tensor_fact(DType::boolean, pointwise_operands(call).shape)}; }

// dim: int, int[] or absent; an empty list reduces everything.
std::optional<Shape> reduced(const Call& call) {
  const auto* tensor = first_tensor(call);
  if (!tensor || !tensor->shape) return std::nullopt;
  const auto keep = call.has("keepdim") ? call.boolean("keepdim") : std::optional(false);
  if (!keep) return std::nullopt;
  if (call.is_none("dim")) return reduce_shape(*tensor->shape, std::nullopt, *keep);
  auto dims = call.ints("dim");
  if (!dims) return std::nullopt;
  if (dims->empty()) return reduce_shape(*tensor->shape, std::nullopt, *keep);
  return reduce_shape(*tensor->shape, dims, *keep);
}

Facts reduce(const Call& call) { return {tensor_fact(dtype_or(call, dtype_of(first_tensor(call))), reduced(call))}; }
Facts reduce_sum(const Call& call) { return {tensor_fact(dtype_or(call, as_sum(dtype_of(first_tensor(call)))), reduced(call))}; }
Facts reduce_float(const Call& call) { return {tensor_fact(dtype_or(call, as_float(dtype_of(first_tensor(call)))), reduced(call))}; }
// Of u8, which stood for bool before there was one, it is u8.
Facts reduce_bool(const Call& call) {
  const auto dtype = dtype_of(first_tensor(call));
  return {tensor_fact(!dtype ? std::nullopt : std::optional(*dtype == DType::u8 ? DType::u8 : DType::boolean), reduced(call))};
}
Facts reduce_index(const Call& call) { return {tensor_fact(DType::i64, reduced(call))}; }

Facts scan_sum(const Call& call) {
  const auto* tensor = first_tensor(call);
  return {tensor_fact(dtype_or(call, as_sum(dtype_of(tensor))), shape_of(tensor))};
}

}  // namespace

void register_words(Registry& registry) {
  registry.fact_word("same", same);
  registry.fact_word("same_float", same_float);
  registry.fact_word("pointwise", pointwise);
  registry.fact_word("pointwise_float", pointwise_float);
  registry.fact_word("comparison", comparison);
  registry.fact_word("test", test);
  registry.fact_word("reduce", reduce);
  registry.fact_word("reduce_sum", reduce_sum);
  registry.fact_word("reduce_float", reduce_float);
  registry.fact_word("reduce_bool", reduce_bool);
  registry.fact_word("reduce_index", reduce_index);
  registry.fact_word("scan_sum", scan_sum);
}

}  // namespace compatcheck::symbolic

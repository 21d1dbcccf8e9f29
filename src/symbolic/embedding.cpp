// Embeddings: facts.
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

Facts embedding(const Call& call) {
  const TensorFact &weight = tensor_of(call, "weight"), &indices = tensor_of(call, "indices");
  if (!indices.shape) return {tensor_fact(weight.dtype, std::nullopt)};
  Shape shape = *indices.shape;
  shape.push_back(size_at(weight, 1));
  return {tensor_fact(weight.dtype, std::move(shape))};
}

// (bags, and three tensors for the backward pass, without facts).
Facts embedding_bag(const Call& call) {
  const TensorFact &weight = tensor_of(call, "weight"), &offsets = tensor_of(call, "offsets");
  const auto last = call.boolean("include_last_offset");
  Dim bags = size_at(offsets, 0);
  if (const auto* indices = call.tensor("indices"); indices && indices->shape && indices->shape->size() == 2)
    bags = indices->shape->front();
  else
    bags = last ? bags - Dim(*last ? 1 : 0) : Dim::unknown();
  return {tensor_fact(weight.dtype, Shape{bags, size_at(weight, 1)})};
}

// The rows of a table that the indices name.
Facts rows_of_packed(const Call& call) {
  const TensorFact& indices = tensor_of(call, "indices");
  if (!indices.shape) return {tensor_fact(ir::DType::f32, std::nullopt)};
  Shape shape = *indices.shape;
  const auto* tensors = part_of(call.fact("weight"), "tensors").list();
  const auto* table = tensors && tensors->items && !tensors->items->empty() ? tensors->items->front().tensor() : nullptr;
  shape.push_back(table ? size_at(*table, 1) : Dim::unknown());
  return {tensor_fact(ir::DType::f32, std::move(shape))};
}

Facts bags_of_packed(const Call& call) {
  const auto last = call.boolean("include_last_offset");
  const Dim bags = last ? size_at(tensor_of(call, "offsets"), 0) - Dim(*last ? 1 : 0) : Dim::unknown();
  const Facts rows = rows_of_packed(call);
  const auto* row = rows.front().tensor();
  return {tensor_fact(ir::DType::f32, Shape{bags, row->shape ? row->shape->back() : Dim::unknown()})};
}

}  // namespace

void register_embedding(Registry& registry) {
  registry.facts("aten::embedding", embedding);
  registry.facts("quantized::embedding_byte", rows_of_packed);
  registry.facts("quantized::embedding_bag_byte", bags_of_packed);
  for (const char* op : {"aten::embedding_bag", "aten::_embedding_bag", "aten::_embedding_bag_forward_only"})
    registry.facts(op, embedding_bag);
}

}  // namespace compatcheck::symbolic

// Diagonals: facts.
#include "symbolic/diagonal.h"

#include <algorithm>

#include "symbolic/families.h"

namespace compatcheck::symbolic {
namespace {

Dim diagonal_length(const Dim& rows, const Dim& columns, std::int64_t offset) {
  if (rows.is_number() && columns.is_number()) {
    const Dim m = offset < 0 ? rows + Dim(offset) : rows, n = offset > 0 ? columns - Dim(offset) : columns;
    if (m.is_number() && n.is_number()) return Dim(std::max<std::int64_t>(0, std::min(*m.number(), *n.number())));
    return Dim::unknown();
  }
  return offset == 0 && provably_equal(rows, columns) ? rows : Dim::unknown();
}

// Returns the distance of a diagonal from the main one.
Dim distance(std::int64_t offset) { return offset < 0 ? Dim(-1) * Dim(offset) : Dim(offset); }

}  // namespace

Facts diagonal(const Call& call) {
  const TensorFact& self = call.has("A") ? tensor_of(call, "A") : self_of(call);
  const auto offset = call.integer("offset"), first = call.integer("dim1"), second = call.integer("dim2");
  if (!self.shape || !offset || !first || !second) return {tensor_fact(self.dtype, std::nullopt)};
  const auto a = wrap_dim(*first, self.shape->size()), b = wrap_dim(*second, self.shape->size());
  if (!a || !b || self.shape->size() < 2) return {tensor_fact(self.dtype, std::nullopt)};
  Shape shape;
  for (std::size_t i = 0; i < self.shape->size(); ++i)
    if (i != *a && i != *b) shape.push_back((*self.shape)[i]);
  shape.push_back(diagonal_length((*self.shape)[*a], (*self.shape)[*b], *offset));
  return {tensor_fact(self.dtype, std::move(shape))};
}

namespace {

// Square matrices with the last dimension on a diagonal.
Facts diag_embed(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto offset = call.integer("offset"), first = call.integer("dim1"), second = call.integer("dim2");
  if (!self.shape || self.shape->empty() || !offset || !first || !second) return {tensor_fact(self.dtype, std::nullopt)};
  const std::size_t rank = self.shape->size() + 1;
  const auto a = wrap_dim(*first, rank), b = wrap_dim(*second, rank);
  if (!a || !b || *a == *b) return {tensor_fact(self.dtype, std::nullopt)};
  const Dim side = self.shape->back() + distance(*offset);
  Shape shape;
  auto next = self.shape->begin();
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(i == *a || i == *b ? side : *next++);
  return {tensor_fact(self.dtype, std::move(shape))};
}

// Returns the matrix of a vector, the diagonal of a matrix.
Facts diag(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto offset = call.integer("diagonal");
  if (!self.shape || !offset) return {tensor_fact(self.dtype, std::nullopt)};
  if (self.shape->size() == 1) return {tensor_fact(self.dtype, Shape(2, (*self.shape)[0] + distance(*offset)))};
  if (self.shape->size() != 2) return {tensor_fact(self.dtype, std::nullopt)};
  return {tensor_fact(self.dtype, Shape{diagonal_length((*self.shape)[0], (*self.shape)[1], *offset)})};
}

Facts diagflat(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto offset = call.integer("offset");
  const Dim side = self.shape && offset ? product(*self.shape) + distance(*offset) : Dim::unknown();
  return {tensor_fact(self.dtype, Shape{side, side})};
}

}  // namespace

void register_diagonal(Registry& registry) {
  for (const char* op : {"aten::diagonal", "aten::diagonal_copy", "aten::linalg_diagonal"}) registry.facts(op, diagonal);
  registry.facts("aten::diag_embed", diag_embed);
  registry.facts("aten::diag", diag);
  registry.facts("aten::diagflat", diagflat);
}

}  // namespace compatcheck::symbolic

#include "symbolic/shapes.h"

#include <algorithm>

namespace compatcheck::symbolic {

std::optional<std::size_t> wrap_dim(std::int64_t dim, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (dim < -size || dim >= size) return std::nullopt;
  return static_cast<std::size_t>(dim < 0 ? dim + size : dim);
}

Dim broadcast_dim(const Dim& a, const Dim& b) {
  if (a.number() == 1) return b;
  if (b.number() == 1) return a;
  if (provably_equal(a, b)) return a;
  if (a.is_number()) return a;  // the other one is this, or 1
  if (b.is_number()) return b;
  return Dim::unknown();
}

std::optional<Shape> broadcast(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return std::nullopt;
  const Shape& longer = a->size() >= b->size() ? *a : *b;
  const Shape& shorter = a->size() >= b->size() ? *b : *a;
  Shape result = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) result[lead + i] = broadcast_dim(longer[lead + i], shorter[i]);
  return result;
}

std::optional<Shape> reduce_shape(const Shape& shape, const std::optional<std::vector<std::int64_t>>& dims, bool keep) {
  std::vector<bool> reduced(shape.size(), !dims);
  if (dims) {
    for (const std::int64_t dim : *dims) {
      const auto index = wrap_dim(dim, shape.size());
      if (!index) return std::nullopt;
      if (*index < reduced.size()) reduced[*index] = true;
    }
  }
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) result.push_back(shape[i]);
    else if (keep) result.emplace_back(1);
  }
  return result;
}

Dim product(const Shape& shape) {
  Dim result = 1;
  for (const Dim& dim : shape) result = result * dim;
  return result;
}

Fact tensor_fact(std::optional<ir::DType> dtype, std::optional<Shape> shape) {
  return {.value = TensorFact{.dtype = dtype, .shape = std::move(shape)}};
}

Fact integer_fact(Dim value) {
  NumberFact number{.kind = NumberFact::Kind::integer};
  if (!value.is_unknown()) number.integer = std::move(value);
  return {.value = std::move(number)};
}

Fact boolean_fact(bool value) {
  return {.value = NumberFact{.kind = NumberFact::Kind::boolean, .integer = Dim(value ? 1 : 0)}};
}

const TensorFact* first_tensor(const Call& call) {
  for (std::size_t i = 0; i < call.node().inputs().size(); ++i) {
    const Fact& fact = call.input(i);
    if (const auto* tensor = fact.tensor()) return tensor;
    if (const auto* list = fact.list(); list && list->items)
      for (const Fact& item : *list->items)
        if (const auto* tensor = item.tensor()) return tensor;
  }
  return nullptr;
}

}  // namespace compatcheck::symbolic

#include "symbolic/shapes.h"

#include <algorithm>

#include "symbolic/size_demands.h"

namespace compatcheck::symbolic {

std::optional<std::size_t> wrap_dim(std::int64_t dim, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (dim < -size || dim >= size) return std::nullopt;
  return static_cast<std::size_t>(dim < 0 ? dim + size : dim);
}

Dim broadcast_dim(const Dim& a, const Dim& b) {
  if (a.number() == 1) return b;
  if (b.number() == 1) return a;
  if (provably_equal(a, 1)) return b;
  if (provably_equal(b, 1)) return a;
  demand(a, b, true);
  if (provably_equal(a, b)) return a;
  if (a.is_number() && b.is_number()) throw Impossible{"sizes " + a.to_string() + " and " + b.to_string() + " don't broadcast"};
  if (a.is_number()) return a;  // the other one is this, or 1
  if (b.is_number()) return b;
  return Dim::unknown();
}

Dim agreed_dim(const Dim& a, const Dim& b) {
  demand(a, b);
  if (provably_different(a, b)) throw Impossible{"sizes " + a.to_string() + " and " + b.to_string() + " must be equal"};
  if (b.is_number() || a.is_unknown()) return b;
  return a;
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
    if (!reduced[i])
      result.push_back(shape[i]);
    else if (keep)
      result.emplace_back(1);
  }
  return result;
}

Dim product(const Shape& shape) {
  Dim result = 1;
  for (const Dim& dim : shape) result = result * dim;
  return result;
}

Dim ceil_div(const Dim& a, const Dim& b) { return floor_div(a + b - Dim(1), b); }

Shape unknown_sizes(std::size_t rank) { return Shape(rank, Dim::unknown()); }

Shape sizes_of(const std::optional<std::vector<Dim>>& list, std::size_t count) {
  if (list && list->size() == count) return *list;
  return list && list->size() == 1 ? Shape(count, list->front()) : unknown_sizes(count);
}

Fact tensor_fact(std::optional<ir::DType> dtype, std::optional<Shape> shape) {
  return {.value = TensorFact{.dtype = dtype, .shape = std::move(shape)}};
}

Fact like(const TensorFact& tensor) { return tensor_fact(tensor.dtype, tensor.shape); }

Fact integer_fact(Dim value) {
  NumberFact number{.kind = NumberFact::Kind::integer};
  if (!value.is_unknown()) number.integer = std::move(value);
  return {.value = std::move(number)};
}

Fact floating_fact(std::optional<double> value) {
  return {.value = NumberFact{.kind = NumberFact::Kind::floating, .floating = value}};
}

Fact boolean_fact(std::optional<bool> value) {
  NumberFact number{.kind = NumberFact::Kind::boolean};
  if (value) number.integer = Dim(*value ? 1 : 0);
  return {.value = std::move(number)};
}

Fact list_fact(Facts items) { return {.value = ListFact{.items = std::move(items)}}; }

Fact list_of(Fact element) {
  return {.value = ListFact{.items = std::nullopt, .element = std::make_shared<Fact>(std::move(element))}};
}

Facts like_and(const TensorFact& tensor, ir::DType dtype) { return {like(tensor), tensor_fact(dtype, tensor.shape)}; }

namespace {

const TensorFact* tensor_in(const Fact& fact) {
  const auto* list = fact.list();
  if (!list) return fact.tensor();
  if (list->items && !list->items->empty()) return list->items->front().tensor();
  return !list->items && list->element ? list->element->tensor() : nullptr;
}

}  // namespace

const TensorFact* first_tensor(const Call& call) {
  const auto* schema = call.node().schema();
  if (!schema) return nullptr;
  for (std::size_t i = 0; i < schema->arguments.size() && i < call.node().inputs().size(); ++i)
    if (ir::holds(*schema->arguments[i].type, ir::TypeKind::tensor) && !call.input(i).is_none()) return tensor_in(call.input(i));
  return nullptr;
}

const TensorFact& tensor_of(const Call& call, std::string_view argument) {
  static const TensorFact nothing{};
  const auto* tensor = call.tensor(argument);
  return tensor ? *tensor : nothing;
}

Facts like_self(const Call& call) { return {like(self_of(call))}; }

std::optional<std::size_t> dim_index(const Call& call, std::string_view argument, const TensorFact& tensor) {
  const auto dim = call.integer(argument);
  if (!dim || !tensor.shape) return std::nullopt;
  const auto index = wrap_dim(*dim, tensor.shape->size());
  if (!index)
    throw Impossible{"dimension " + std::to_string(*dim) + " is out of range for rank " + std::to_string(tensor.shape->size())};
  return index;
}

std::optional<ir::DType> dtype_or(const Call& call, std::optional<ir::DType> otherwise) {
  return call.is_none("dtype") ? otherwise : call.dtype("dtype");
}

Dim size_at(const TensorFact& tensor, std::size_t index) {
  return tensor.shape && index < tensor.shape->size() ? (*tensor.shape)[index] : Dim::unknown();
}

}  // namespace compatcheck::symbolic

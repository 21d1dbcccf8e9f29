// Sizes as values: facts.
#include <algorithm>

#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Facts size(const Call& call) {
  const TensorFact& self = self_of(call);
  if (!call.has("dim")) {
    ListFact list{.items = std::nullopt, .element = std::make_shared<Fact>(integer_fact(Dim::unknown()))};
    if (self.shape) {
      list.items.emplace();
      for (const Dim& dim : *self.shape) list.items->push_back(integer_fact(dim));
    }
    return {{.value = std::move(list)}};
  }
  const auto dim = call.integer("dim");
  const auto index = dim && self.shape ? wrap_dim(*dim, self.shape->size()) : std::nullopt;
  return {integer_fact(index && *index < self.shape->size() ? (*self.shape)[*index] : Dim::unknown())};
}

Facts rank(const Call& call) {
  const auto known = call.rank("self");
  return {integer_fact(known ? Dim(static_cast<std::int64_t>(*known)) : Dim::unknown())};
}

// The sizes as a vector.
Facts shape_as_tensor(const Call& call) {
  const TensorFact& self = self_of(call);
  if (!self.shape) return {tensor_fact(DType::i64, unknown_sizes(1))};
  TensorFact result{.dtype = DType::i64, .shape = Shape{static_cast<std::int64_t>(self.shape->size())}};
  const bool known = std::none_of(self.shape->begin(), self.shape->end(), [](const Dim& dim) { return dim.is_unknown(); });
  if (known) result.contents = *self.shape;
  return {{.value = std::move(result)}};
}

Facts numel(const Call& call) {
  const TensorFact& self = self_of(call);
  return {integer_fact(self.shape ? product(*self.shape) : Dim::unknown())};
}

}  // namespace

void register_shape(Registry& registry) {
  registry.facts("aten::size", size);
  registry.facts("aten::dim", rank);
  registry.facts("aten::numel", numel);
  registry.facts("aten::_shape_as_tensor", shape_as_tensor);
}

}  // namespace compatcheck::symbolic

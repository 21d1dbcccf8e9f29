// Distinct values, whose number is known only at run time: facts.
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Fact when(const std::optional<bool>& returned, std::optional<Shape> shape) {
  if (!returned) return tensor_fact(DType::i64, std::nullopt);
  return tensor_fact(DType::i64, *returned ? std::move(shape) : std::optional(Shape{0}));
}

Facts unique(const Call& call) {
  const TensorFact& self = self_of(call);
  const bool flat = call.is_none("dim");
  if (!flat && self.shape && self.shape->empty()) throw Impossible{"a tensor without dimensions has none to look along"};
  const auto dim = flat ? std::nullopt : dim_index(call, "dim", self);
  std::optional<Shape> values = flat ? std::optional(unknown_sizes(1)) : self.shape, inverse = self.shape;
  if (!flat && values) {
    if (!dim || *dim >= values->size())
      values = unknown_sizes(values->size());
    else
      (*values)[*dim] = Dim::unknown();
    inverse = Shape{dim ? size_at(self, *dim) : Dim::unknown()};
  }
  const bool always_inverse = call.op() != "aten::unique_consecutive" && !flat;  // unique_dim computes both anyway
  Facts facts{tensor_fact(self.dtype, std::move(values)),
              when(always_inverse ? true : call.boolean("return_inverse"), std::move(inverse))};
  if (call.node().outputs().size() > 2)
    facts.push_back(when(always_inverse ? true : call.boolean("return_counts"), unknown_sizes(1)));
  return facts;
}

}  // namespace

void register_unique(Registry& registry) {
  for (const char* op :
       {"aten::_unique", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive", "aten::unique_dim_consecutive"})
    registry.facts(op, unique);
}

}  // namespace compatcheck::symbolic

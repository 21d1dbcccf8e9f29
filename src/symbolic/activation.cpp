// Activations: facts, and what PyTorch demands.
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"
#include "symbolic/size_demands.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Facts softmax(const Call& call) {
  const TensorFact& self = self_of(call);
  if (!call.has("half_to_float")) return {tensor_fact(dtype_or(call, self.dtype), self.shape)};
  const auto widen = call.boolean("half_to_float");
  return {tensor_fact(widen ? (*widen ? std::optional(DType::f32) : self.dtype) : std::nullopt, self.shape)};
}

Facts native_dropout(const Call& call) { return like_and(tensor_of(call, "input"), DType::boolean); }

// Half of a dimension gates the other half.
Facts glu(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto dim = dim_index(call, "dim", self);
  if (!dim || self.shape->empty()) return {tensor_fact(self.dtype, std::nullopt)};
  Shape shape = *self.shape;
  Demands demands;
  demands.multiple(shape[*dim], 2, "the size that is halved");
  demands.hold();
  shape[*dim] = floor_div(shape[*dim], 2);
  return {tensor_fact(self.dtype, std::move(shape))};
}

// prelu's weight: one number for all channels, or one for each. A tensor with fewer than two dimensions has one channel.
Verdict slopes_fit(const Call& call) {
  Demands demands;
  const auto &self = self_of(call).shape, &weight = tensor_of(call, "weight").shape;
  demands.rank(call, "weight", 0, 1);
  if (!weight || weight->size() != 1 || weight->front().number() == 1 || !self) return demands.verdict();
  const Dim channels = self->size() < 2 ? Dim(1) : (*self)[1];
  if (weight->front().is_number())
    demands.equal(channels, weight->front(), "the number of channels");
  else
    demand(weight->front(), channels, true);
  return demands.verdict();
}

}  // namespace

void register_activation(Registry& registry) {
  for (const char* op : {"aten::softmax", "aten::log_softmax", "aten::_softmax", "aten::_log_softmax", "aten::_safe_softmax"})
    registry.facts(op, softmax);
  registry.facts("aten::native_dropout", native_dropout);
  registry.facts("aten::glu", glu);
  registry.condition("slopes_fit", slopes_fit);
}

}  // namespace compatcheck::symbolic

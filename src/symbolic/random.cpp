// Random numbers: facts, and what PyTorch demands.
#include "symbolic/creation.h"
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Facts normal(const Call& call) {
  if (call.has("size")) return made<default_float>(call);
  const auto &mean = tensor_of(call, "mean"), &deviation = tensor_of(call, "std");
  if (call.fact("std").number()) return {like(mean)};
  if (call.fact("mean").number()) return {like(deviation)};
  return {tensor_fact(mean.dtype, broadcast(mean.shape, deviation.shape))};
}

// One for each element of the filled tensor.
Verdict probabilities_expand(const Call& call) {
  Demands demands;
  const auto &self = self_of(call).shape, &p = tensor_of(call, "p").shape;
  if (self && p) demands.broadcasts(*p, *self, "p");
  return demands.verdict();
}

Facts multinomial(const Call& call) {
  const TensorFact& self = self_of(call);
  if (!self.shape || self.shape->empty()) return {tensor_fact(DType::i64, std::nullopt)};
  Shape shape = *self.shape;
  const Dim samples = call.dim("num_samples").value_or(Dim::unknown());
  Demands demands;
  demands.at_least(samples, 1, "num_samples");
  if (call.boolean("replacement") == false) demands.at_most(samples, shape.back(), "num_samples without replacement");
  demands.hold();
  shape.back() = samples;
  return {tensor_fact(DType::i64, std::move(shape))};
}

Facts random_permutation(const Call& call) {
  return {tensor_fact(dtype_or(call, DType::i64), Shape{call.dim("n").value_or(Dim::unknown())})};
}

}  // namespace

void register_random(Registry& registry) {
  for (const char* op : {"aten::rand", "aten::randn"}) registry.facts(op, made<default_float>);
  registry.facts("aten::randint", made<DType::i64>);
  for (const char* op : {"aten::rand_like", "aten::randn_like", "aten::randint_like"}) registry.facts(op, made_like);
  registry.facts("aten::randperm", random_permutation);
  registry.facts("aten::normal", normal);
  for (const char* op : {"aten::normal_", "aten::normal_functional"}) registry.facts(op, like_self);
  registry.facts("aten::multinomial", multinomial);
  registry.condition("probabilities_expand", probabilities_expand);
}

}  // namespace compatcheck::symbolic

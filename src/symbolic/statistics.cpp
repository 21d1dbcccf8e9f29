// Statistics: facts.
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/reduction.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Facts covariance(const Call& call, bool floats) {
  const TensorFact& self = self_of(call);
  auto dtype = as_float(self.dtype);
  if (floats && dtype && !ir::is_complex(*dtype) && !call.is_none("aweights")) {
    const auto weights = call.dtype_of("aweights");
    dtype = weights ? promote_types(*dtype, *weights) : std::nullopt;
  }
  if (!self.shape) return {tensor_fact(dtype, std::nullopt)};
  const Dim variables = self.shape->size() < 2 ? Dim(1) : (*self.shape)[0];  // sizes of 1 are squeezed
  if (!variables.is_number()) return {tensor_fact(dtype, std::nullopt)};
  return {tensor_fact(dtype, variables.number() == 1 ? Shape{} : Shape(2, variables))};
}

// A weight for each observation.
Facts cov(const Call& call) {
  Demands demands;
  demands.rank(call, "self", 0, 2);
  const TensorFact& self = self_of(call);
  const Dim observations = !self.shape ? Dim::unknown() : self.shape->empty() ? Dim(1) : self.shape->back();
  for (const char* weights : {"fweights", "aweights"}) {
    if (call.is_none(weights)) continue;
    demands.rank(call, weights, 0, 1);
    if (const auto& shape = tensor_of(call, weights).shape)
      demands.equal(product(*shape), observations, "the number of " + std::string(weights));
  }
  demands.hold();
  return covariance(call, true);
}

Facts corrcoef(const Call& call) { return covariance(call, false); }

Facts quantile(const Call& call) {
  const TensorFact& self = self_of(call);
  auto shape = reduced_sizes(call);
  const auto* q = call.tensor("q");
  if (q) {
    if (!q->shape)
      shape.reset();
    else if (shape && q->shape->size() == 1)
      shape->insert(shape->begin(), q->shape->front());
  }
  return {tensor_fact(self.dtype, std::move(shape))};
}

Facts bincount(const Call& call) {
  if (call.is_none("weights")) return {tensor_fact(DType::i64, unknown_sizes(1))};
  demand_equal(size_at(tensor_of(call, "weights"), 0), size_at(self_of(call), 0), "the length of weights");
  const auto dtype = call.dtype_of("weights");
  return {tensor_fact(dtype == DType::f32 ? DType::f32 : DType::f64, unknown_sizes(1))};
}

}  // namespace

void register_statistics(Registry& registry) {
  for (const char* op : {"aten::median", "aten::nanmedian", "aten::mode"}) registry.facts(op, values_and_indices);
  for (const char* op : {"aten::quantile", "aten::nanquantile"}) registry.facts(op, quantile);
  registry.facts("aten::bincount", bincount);
  registry.facts("aten::cov", cov);
  registry.facts("aten::corrcoef", corrcoef);
}

}  // namespace compatcheck::symbolic

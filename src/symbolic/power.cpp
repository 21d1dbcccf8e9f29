// Powers: facts.
#include "symbolic/families.h"
#include "symbolic/pointwise.h"
#include "symbolic/promotion.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Facts float_power(const Call& call) {
  const Operands operands = pointwise_operands(call);
  const auto dtype = !operands.dtype                   ? operands.dtype
                     : ir::is_complex(*operands.dtype) ? std::optional(DType::c128)
                                                       : std::optional(DType::f64);
  return {tensor_fact(dtype, operands.shape)};
}

// x · 2^other, where the power is a float.
Facts ldexp(const Call& call) {
  Promotion promotion;
  const TensorFact &self = self_of(call), &other = tensor_of(call, "other");
  const auto shape = broadcast(self.shape, other.shape);
  // Whole exponents are read in the dtype of a floating tensor.
  if (self.dtype && ir::is_floating(*self.dtype) && other.dtype && !ir::is_floating(*other.dtype) &&
      !ir::is_complex(*other.dtype))
    return {tensor_fact(self.dtype, shape)};
  promotion.add(call.fact("self"));
  promotion.add(tensor_fact(as_float(other.dtype), other.shape));
  return {tensor_fact(promotion.result(), shape)};
}

// A square is pow(self, 2): bool becomes an integer.
Facts square(const Call& call) {
  const TensorFact& self = self_of(call);
  return {tensor_fact(self.dtype == DType::boolean ? std::optional(DType::i64) : self.dtype, self.shape)};
}

}  // namespace

void register_power(Registry& registry) {
  registry.facts("aten::float_power", float_power);
  registry.facts("aten::ldexp", ldexp);
  registry.facts("aten::square", square);
}

}  // namespace compatcheck::symbolic

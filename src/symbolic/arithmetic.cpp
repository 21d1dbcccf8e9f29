// Arithmetic that no rule word describes: facts.
#include "symbolic/families.h"
#include "symbolic/pointwise.h"
#include "symbolic/promotion.h"

namespace compatcheck::symbolic {
namespace {

// rounding_mode=None is true division.
Facts div(const Call& call) {
  Operands operands = pointwise_operands(call);
  if (call.is_none("rounding_mode")) {
    operands.dtype = as_float(operands.dtype);
  } else if (!call.string("rounding_mode")) {
    operands.dtype.reset();
  }
  return {pointwise_fact(call, std::move(operands))};
}

Facts magnitude(const Call& call) { return {real_fact(self_of(call))}; }

Facts positive(const Call& call) { return {{.value = self_of(call)}}; }

Facts frexp(const Call& call) { return like_and(self_of(call), ir::DType::i32); }

}  // namespace

void register_arithmetic(Registry& registry) {
  for (const char* op :
       {"aten::div.Tensor_mode", "aten::div.Scalar_mode", "aten::divide.Tensor_mode", "aten::divide.Scalar_mode"})
    registry.facts(op, div);
  for (const char* op : {"aten::abs", "aten::absolute"}) registry.facts(op, magnitude);
  registry.facts("aten::frexp.Tensor", frexp);
  registry.facts("aten::positive", positive);
}

}  // namespace compatcheck::symbolic

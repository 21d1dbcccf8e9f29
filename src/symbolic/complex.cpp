// Complex numbers and their parts: facts.
#include "symbolic/cast.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"
#include "symbolic/view.h"

namespace compatcheck::symbolic {
namespace {

Facts complex(const Call& call) {
  const bool polar = call.has("angle");
  const TensorFact &a = tensor_of(call, polar ? "abs" : "real"), &b = tensor_of(call, polar ? "angle" : "imag");
  return {tensor_fact(as_complex(a.dtype), broadcast(a.shape, b.shape))};
}

Facts to_c32(const Call& call) { return {cast(self_of(call), ir::DType::c32)}; }

Facts view_as_real(const Call& call) {
  const TensorFact& self = self_of(call);
  std::optional<Shape> shape = self.shape;
  if (shape) shape->emplace_back(2);
  return {tensor_fact(as_real(self.dtype), std::move(shape))};
}

Facts view_as_complex(const Call& call) {
  const TensorFact& self = self_of(call);
  std::optional<Shape> shape = self.shape;
  if (shape && !shape->empty()) shape->pop_back();
  return {tensor_fact(as_complex(self.dtype), std::move(shape))};
}

Facts part(const Call& call) { return {real_fact(self_of(call))}; }

Facts angle(const Call& call) { return {tensor_fact(as_real(as_float(self_of(call).dtype)), self_of(call).shape)}; }

}  // namespace

void register_complex(Registry& registry) {
  for (const char* op : {"aten::complex", "aten::polar"}) registry.facts(op, complex);
  registry.facts("aten::chalf", to_c32);
  registry.facts("aten::view_as_real", view_as_real);
  registry.facts("aten::view_as_complex", view_as_complex);
  for (const char* op : {"aten::real", "aten::imag"}) registry.facts(op, part);
  registry.facts("aten::angle", angle);
  registry.facts("aten::conj_physical_", like_self);
  for (const char* op : {"aten::mH", "aten::adjoint", "aten::matrix_H"}) registry.facts(op, matrix_transpose);
}

}  // namespace compatcheck::symbolic

// Changes of dtype and device: facts.
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

// Integers stay what they are in another integer type.
Fact cast(const TensorFact& self, std::optional<DType> dtype) {
  TensorFact result = self;
  result.dtype = dtype;
  result.wrapped_number = self.wrapped_number && self.dtype == dtype;
  const bool keeps = dtype && (dtype == self.dtype || dtype == DType::i64 || (dtype == DType::i32 && self.dtype != DType::i64));
  if (!keeps) result.contents.reset();
  return {.value = std::move(result)};
}

Facts to(const Call& call) {
  const TensorFact& self = tensor_of(call, "self");
  if (call.has("other")) return {cast(self, call.dtype_of("other"))};
  return {cast(self, dtype_or(call, self.dtype))};
}

template <DType dtype> Facts to_fixed(const Call& call) { return {cast(tensor_of(call, "self"), dtype)}; }

// prim::convert_element_type(Tensor a, ScalarType dtype).
Facts convert_element_type(const Call& call) { return {cast(tensor_of(call, "a"), call.dtype("dtype"))}; }

}  // namespace

void register_cast(Registry& registry) {
  for (const char* op : {"aten::to", "aten::_to_copy", "aten::type_as", "aten::cpu", "aten::cuda"}) registry.facts(op, to);
  registry.facts("aten::_cast_Byte", to_fixed<DType::u8>);
  registry.facts("aten::_cast_Char", to_fixed<DType::i8>);
  registry.facts("aten::_cast_Short", to_fixed<DType::i16>);
  registry.facts("aten::_cast_Int", to_fixed<DType::i32>);
  registry.facts("aten::_cast_Long", to_fixed<DType::i64>);
  registry.facts("aten::chalf", to_fixed<DType::c32>);
  registry.facts("aten::_cast_Half", to_fixed<DType::f16>);
  registry.facts("aten::_cast_Float", to_fixed<DType::f32>);
  registry.facts("aten::_cast_Double", to_fixed<DType::f64>);
  registry.facts("aten::_cast_Bool", to_fixed<DType::boolean>);
  registry.facts("prim::convert_element_type", convert_element_type);
}

}  // namespace compatcheck::symbolic

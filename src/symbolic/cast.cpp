// Changes of dtype and device: facts.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Fact cast(const TensorFact& self, std::optional<DType> dtype) {
  TensorFact result = self;
  result.dtype = dtype;
  if (dtype == self.dtype) return {.value = std::move(result)};
  const bool is_small = dtype && ir::element_bytes(*dtype) < sizeof(float);
  if (!dtype || is_small || !result.contents || !holds_exactly(*dtype, *result.contents)) result.contents.reset();
  result.fraction.reset();
  if (dtype && self.fraction && *dtype == DType::f64) result.fraction = self.fraction;
  if (dtype && self.fraction && *dtype == DType::f32) set_number(result, static_cast<float>(*self.fraction));
  if (dtype == DType::i64 && self.fraction && std::abs(*self.fraction) < 9e15) set_number(result, std::trunc(*self.fraction));
  return {.value = std::move(result)};
}

Facts to(const Call& call) {
  const TensorFact& self = tensor_of(call, "self");
  if (call.has("other")) return {cast(self, call.dtype_of("other"))};
  return {cast(self, dtype_or(call, self.dtype))};
}

template <DType dtype>
Facts to_fixed(const Call& call) {
  return {cast(tensor_of(call, "self"), dtype)};
}

Facts convert_element_type(const Call& call) {
  const auto* tensor = first_tensor(call);
  return {cast(tensor ? *tensor : TensorFact{}, call.dtype("dtype"))};
}

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
  for (const char* op :
       {"prim::convert_element_type", "prims::convert_element_type", "quantized_decomposed::convert_element_type"})
    registry.facts(op, convert_element_type);
}

}  // namespace compatcheck::symbolic

// Changes of dtype and device, tensors that become Python's numbers: facts, and what PyTorch demands.
#include "symbolic/cast.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/scalar.h"

namespace compatcheck::symbolic {

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

void demand_one_element(const Call& call) {
  if (const auto* tensor = call.input(0).tensor(); tensor && tensor->shape)
    demand_equal(product(*tensor->shape), 1, "the number of elements that become a number");
}

namespace {

Facts to(const Call& call) {
  const TensorFact& self = self_of(call);
  return {cast(self, call.has("other") ? call.dtype_of("other") : dtype_or(call, self.dtype))};
}

template <DType dtype>
Facts to_fixed(const Call& call) {
  return {cast(self_of(call), dtype)};
}

Facts convert_element_type(const Call& call) {
  const auto* tensor = first_tensor(call);
  return {cast(tensor ? *tensor : TensorFact{}, call.dtype("dtype"))};
}

// item(), ScalarImplicit: the only element, of the kind that belongs to the dtype.
Facts item_of_tensor(const Call& call) {
  const auto* tensor = call.input(0).tensor();
  if (!tensor) return {call.input(0).number() ? call.input(0) : Fact{}};
  if (!tensor->dtype || ir::is_complex(*tensor->dtype)) return {};
  const NumberFact value = number_at(call, 0);
  if (ir::is_floating(*tensor->dtype)) return {floating_fact(as_double(value))};
  NumberFact number{.kind = *tensor->dtype == DType::boolean ? NumberFact::Kind::boolean : NumberFact::Kind::integer,
                    .integer = value.integer};
  return {{.value = std::move(number)}};
}

constexpr std::pair<const char*, Facts (*)(const Call&)> conversions[] = {
    {"aten::Int.Tensor", of_one_element<to_int>},
    {"aten::IntImplicit", of_one_element<to_int>},
    {"aten::Float.Tensor", of_one_element<to_floating>},
    {"aten::FloatImplicit", of_one_element<to_floating>},
    {"aten::Bool.Tensor", of_one_element<to_boolean>},
    {"aten::item", of_one_element<item_of_tensor>},
    {"aten::ScalarImplicit", of_one_element<item_of_tensor>},
    {"aten::_local_scalar_dense", of_one_element<item_of_tensor>},
};

// `src` takes the sizes of `self`.
Verdict source_fits(const Call& call) {
  Demands demands;
  const auto &self = self_of(call).shape, &source = tensor_of(call, "src").shape;
  if (!self || !source) return demands.verdict();
  if (source->size() > self->size()) demands.broken("src has more dimensions than self");
  for (std::size_t i = 0; i < source->size() && source->size() <= self->size(); ++i)
    if ((*source)[i].is_number() && (*source)[i].number() != 1)
      demands.equal((*source)[i], (*self)[self->size() - source->size() + i], "dimension " + std::to_string(i) + " of src");
  return demands.verdict();
}

}  // namespace

bool takes_one_element(std::string_view op, std::string_view overload) {
  const std::string name = std::string(op) + (overload.empty() ? "" : "." + std::string(overload));
  return op == "aten::is_nonzero" ||
         std::ranges::any_of(conversions, [&](const auto& conversion) { return name == conversion.first; });
}

void register_cast(Registry& registry) {
  for (const char* op : {"aten::to", "aten::_to_copy", "aten::type_as", "aten::cpu", "aten::cuda"}) registry.facts(op, to);
  registry.facts("aten::_cast_Byte", to_fixed<DType::u8>);
  registry.facts("aten::_cast_Char", to_fixed<DType::i8>);
  registry.facts("aten::_cast_Short", to_fixed<DType::i16>);
  registry.facts("aten::_cast_Int", to_fixed<DType::i32>);
  registry.facts("aten::_cast_Long", to_fixed<DType::i64>);
  registry.facts("aten::_cast_Half", to_fixed<DType::f16>);
  registry.facts("aten::_cast_Float", to_fixed<DType::f32>);
  registry.facts("aten::_cast_Double", to_fixed<DType::f64>);
  registry.facts("aten::_cast_Bool", to_fixed<DType::boolean>);
  for (const char* op :
       {"prim::convert_element_type", "prims::convert_element_type", "quantized_decomposed::convert_element_type"})
    registry.facts(op, convert_element_type);
  registry.facts("aten::copy_", like_self);
  for (const auto& [op, function] : conversions) registry.facts(op, function);
  registry.condition("source_fits", source_fits);
}

}  // namespace compatcheck::symbolic

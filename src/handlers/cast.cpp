// Changes of dtype, and operators that only move a tensor.
#include <algorithm>

#include "handlers/elementary.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

// Floats beyond an integer's range wrap in PyTorch, as far as 64 bits hold them.
Value converted(Emission& e, const Value& value, DType dtype) {
  const bool narrow = dtype == DType::u8 || dtype == DType::i8 || dtype == DType::i16 || dtype == DType::u16;
  if (narrow && ir::is_floating(value.dtype)) return e.cast(e.cast(value, DType::i64), dtype);
  return e.cast(value, dtype);
}

void to(Emission& e) { e.give(converted(e, e.tensor(e.call.node().schema()->arguments.front().name), e.output_dtype())); }

void as_it_is(Emission& e) { e.give(e.tensor(e.call.node().schema()->arguments.front().name)); }

void copy_list(Emission& e) { e.give_operand(0, e.operand("self")); }

// A tensor of one element as a number.
void element(Emission& e) {
  const auto& name = e.call.node().schema()->arguments.front().name;
  const Value value = e.tensor(name);
  const bool number = e.call.fact(name).number() || e.call.rank(name) == 0;
  e.give(number ? value : e.build.reshape(value, {}));
}

// copy_: in the dtype and sizes of the tensor that is written to.
void copy(Emission& e) {
  const DType dtype = e.output_dtype();
  const Value source = converted(e, e.tensor("src"), dtype);
  const auto* from = e.call.tensor("src");
  const Shape& to = e.shape("self");
  const bool same = from && from->shape &&
                    std::ranges::equal(*from->shape, to, [](const Dim& a, const Dim& b) { return provably_equal(a, b); });
  if (same) return e.give(source);
  if (e.at_least(8)) return e.give(e.node("Expand", {source, e.shape_of("self")}));
  e.give(add(e, source, filled_like(e, e.tensor("self"), dtype, 0)));
}

}  // namespace

void register_cast(Registry& registry) {
  for (const char* op :
       {"aten::to", "aten::to.other", "aten::type_as", "aten::_cast_Byte", "aten::_cast_Char", "aten::_cast_Double",
        "aten::_cast_Float", "aten::_cast_Half", "aten::_cast_Int", "aten::_cast_Long", "aten::_cast_Short", "aten::_cast_Bool",
        "prim::convert_element_type", "prims::convert_element_type", "quantized_decomposed::convert_element_type"})
    registry.handler(op, to);
  for (const char* op :
       {"aten::to.prim_other", "aten::cpu", "aten::cuda", "aten::pin_memory", "aten::requires_grad_", "prims::copy_strided"})
    registry.handler(op, as_it_is);
  for (const char* op : {"aten::item", "aten::Int", "aten::Float", "aten::Bool", "aten::IntImplicit", "aten::FloatImplicit",
                         "aten::ScalarImplicit"})
    registry.handler(op, element);
  registry.handler("aten::copy", copy);
  registry.handler("aten::copy.t", copy_list);
}

}  // namespace compatcheck::handlers

// Bits of integers, and the same operators as logic on bools. Shifts: power.cpp.
#include "handlers/elementary.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

void on_bits(Emission& e, const char* on_bools, const char* on_integers) {
  const auto [a, b] = operands(e);
  if (a.dtype != DType::boolean && !e.at_least(18))
    throw Refusal{"ONNX has no bitwise operators on integers before opset 18", "use opset 18"};
  e.give(e.node(a.dtype == DType::boolean ? on_bools : on_integers, {a, b}));
}

void bitwise_and(Emission& e) { on_bits(e, "And", "BitwiseAnd"); }
void bitwise_or(Emission& e) { on_bits(e, "Or", "BitwiseOr"); }
void bitwise_xor(Emission& e) { on_bits(e, "Xor", "BitwiseXor"); }

void bitwise_not(Emission& e) {
  const Value x = e.tensor("self");
  if (x.dtype == DType::boolean) return e.give(logical_not(e, x));
  if (e.at_least(18)) return e.give(e.node("BitwiseNot", {x}));
  e.give(subtract(e, e.scalar(x.dtype, -1), x));
}

}  // namespace

void register_bitwise(Registry& registry) {
  const auto all = [&](const Handler& handler, std::initializer_list<const char*> names) {
    for (const char* name : names) registry.handler(name, handler);
  };
  all(bitwise_and, {"aten::bitwise_and", "aten::bitwise_and.Scalar", "aten::bitwise_and.Scalar_Tensor", "aten::__and__"});
  all(bitwise_or, {"aten::bitwise_or", "aten::bitwise_or.Scalar", "aten::bitwise_or.Scalar_Tensor", "aten::__or__"});
  all(bitwise_xor, {"aten::bitwise_xor", "aten::bitwise_xor.Scalar", "aten::bitwise_xor.Scalar_Tensor", "aten::__xor__",
                    "aten::__xor__.Scalar"});
  all(bitwise_not, {"aten::bitwise_not"});
}

}  // namespace compatcheck::handlers

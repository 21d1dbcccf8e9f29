// Angles and hyperbolic functions.
#include "handlers/trigonometry.h"

#include <numbers>

#include "handlers/double_forms.h"
#include "handlers/elementary.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

void atan2(Emission& e) {
  const DType dtype = e.output_dtype();
  const auto [self, other] = operand_names(e);
  const Value y = e.number_value(self, dtype);
  e.give(angle_of(e, y, e.number_value(other, dtype)));
}

// tanh(x) · cosh(x) is sinh without a difference. exp(|x|) in two factors ends where the result does.
Value hyperbolic_cosine(Emission& e, const Value& x) {
  const Value root = e.node("Exp", {multiply(e, absolute(e, x), constant(e, x, 0.5))});
  const Value grown = multiply(e, multiply(e, root, constant(e, x, 0.5)), root);
  return add(e, grown, multiply(e, e.node("Reciprocal", {grown}), constant(e, x, 0.25)));
}

void cosh(Emission& e) {
  const Value x = single_operand(e);
  e.give(e.variant("operator") ? e.node("Cosh", {x}) : hyperbolic_cosine(e, x));
}

void sinh(Emission& e) {
  const Value x = single_operand(e);
  e.give(e.variant("operator") ? e.node("Sinh", {x}) : multiply(e, e.node("Tanh", {x}), hyperbolic_cosine(e, x)));
}

template <Value (*function)(Emission&, const Value&)>
void elementwise(Emission& e) {
  e.give(function(e, single_operand(e)));
}

void degrees(Emission& e) {
  const Value x = single_operand(e);
  e.give(multiply(e, x, constant(e, x, 180 / std::numbers::pi)));
}

void radians(Emission& e) {
  const Value x = single_operand(e);
  e.give(multiply(e, x, constant(e, x, std::numbers::pi / 180)));
}

}  // namespace

// The quotient is computed in double, with operands clamped so that neither 0 nor infinity is divided.
Value angle_of(Emission& e, const Value& y, const Value& x) {
  const Value left = is_negative(e, x), down = is_negative(e, y);
  const Value y64 = e.cast(y, DType::f64), x64 = e.cast(x, DType::f64);
  const auto number = [&](double value) { return e.scalar(DType::f64, value); };
  const Value height = clamped(e, y64, number(-1e300), number(1e300));
  const Value width = clamped(e, absolute(e, x64), number(1e-300), number(1e300));
  const Value quotient = e.cast(divide(e, height, where(e, left, negated(e, width), width)), y.dtype);
  const Value half_turn = where(e, down, constant(e, y, -std::numbers::pi), constant(e, y, std::numbers::pi));
  return add(e, arc_tangent(e, quotient), where(e, left, half_turn, constant(e, y, 0)));
}

void register_trigonometry(Registry& registry) {
  registry.handler("aten::atan2", atan2);
  registry.handler("aten::cosh", cosh, {"operator"});
  registry.handler("aten::sinh", sinh, {"operator"});
  for (const char* op : {"aten::rad2deg", "aten::degrees"}) registry.handler(op, degrees);
  for (const char* op : {"aten::deg2rad", "aten::radians"}) registry.handler(op, radians);
  const std::pair<const char*, Handler> functions[] = {
      {"aten::tan", elementwise<tangent>},       {"aten::asin", elementwise<arc_sine>},
      {"aten::acos", elementwise<arc_cosine>},   {"aten::atan", elementwise<arc_tangent>},
      {"aten::asinh", elementwise<area_sine>},   {"aten::acosh", elementwise<area_cosine>},
      {"aten::atanh", elementwise<area_tangent>}};
  for (const auto& [op, handler] : functions) {
    registry.handler(op, handler);
    registry.number_handler(op, handler);
  }
  registry.number_handler("aten::degrees", degrees);
  registry.number_handler("aten::radians", radians);
}

}  // namespace compatcheck::handlers

#include "handlers/elementary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace compatcheck::handlers {
namespace {

bool is_bool(const Value& value) { return value.dtype == DType::boolean; }

// Elements of a constant of real numbers that are at hand.
std::optional<std::vector<double>> elements(Emission& e, const Value& value) {
  const auto* data = e.constant_of(value);
  return data ? onnx::as_floats(*data) : std::nullopt;
}

template <class Predicate>
bool all_elements(Emission& e, const Value& value, Predicate&& holds) {
  const auto numbers = elements(e, value);
  return numbers && std::ranges::all_of(*numbers, holds);
}

}  // namespace

DType result_type(const Emission& e, std::initializer_list<std::string_view> arguments) {
  symbolic::Promotion promotion;
  bool numbers = true, floating = false, integer = false;
  for (const auto name : arguments) {
    const symbolic::Fact& fact = e.call.fact(name);
    if (const auto dtype = e.call.dtype_of(name); dtype && ir::is_quantized(*dtype)) return e.dtype(name);
    promotion.add(fact);
    const auto* number = fact.number();
    numbers &= number != nullptr;
    floating |= number && number->kind == symbolic::NumberFact::Kind::floating;
    integer |= number && number->kind == symbolic::NumberFact::Kind::integer;
  }
  if (numbers) return floating ? DType::f64 : integer ? DType::i64 : DType::boolean;
  if (const auto dtype = promotion.result()) return *dtype;
  for (const auto name : arguments)
    if (!e.call.dtype_of(name) && !e.call.fact(name).number() && !e.call.fact(name).is_none()) e.want(name, "the dtype");
  e.want(*arguments.begin(), "the dtype");
}

std::pair<std::string_view, std::string_view> operand_names(const Emission& e) {
  const auto& arguments = e.call.node().schema()->arguments;
  return {arguments.at(0).name, arguments.at(1).name};
}

std::pair<Value, Value> operands(Emission& e) {
  const auto [a, b] = operand_names(e);
  const DType dtype = result_type(e, {a, b});
  return {e.number_value(a, dtype), e.number_value(b, dtype)};
}

Value single_operand(Emission& e) { return e.number_value(e.call.node().schema()->arguments.at(0).name, e.output_dtype()); }

// ---- What is known

bool is_floating(const Value& value) { return ir::is_floating(value.dtype); }
bool is_unsigned(DType dtype) { return dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64; }

bool may_be_nan(Emission& e, const Value& value) {
  return is_floating(value) && !all_elements(e, value, [](double number) { return !std::isnan(number); });
}

bool minds_nan(Emission& e, const Value& value) {
  if (!may_be_nan(e, value)) return false;
  return e.constant_of(value) || !e.build.compact("the result may differ from PyTorch's where values are NaN");
}

bool may_be_zero(Emission& e, const Value& value) {
  return !all_elements(e, value, [](double number) { return number != 0; });
}

std::optional<int> sign_of(Emission& e, const Value& value) {
  if (all_elements(e, value, [](double number) { return number > 0; })) return 1;
  if (all_elements(e, value, [](double number) { return number < 0; })) return -1;
  return std::nullopt;
}

std::optional<double> constant_number(Emission& e, const Value& value) {
  const auto numbers = elements(e, value);
  return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

bool is_exact_in(DType dtype, DType wider) {
  if (dtype == wider || dtype == DType::boolean) return true;
  if (ir::is_floating(dtype)) return ir::is_floating(wider) && ir::element_bytes(wider) > ir::element_bytes(dtype);
  const std::size_t digits = wider == DType::f64 ? 6 : wider == DType::f32 ? 3 : wider == DType::f16 ? 1 : 0;
  return ir::element_bytes(dtype) <= digits;
}

double largest(DType floating) {
  switch (floating) {
    case DType::f16: return 65504.0;
    case DType::bf16: return 3.3895313892515355e38;
    case DType::f64: return std::numeric_limits<double>::max();
    default: return std::numeric_limits<float>::max();
  }
}

// ---- Logic

Value logical_not(Emission& e, const Value& a) { return e.node("Not", {a}); }
Value logical_and(Emission& e, const Value& a, const Value& b) { return e.node("And", {a, b}); }
Value logical_or(Emission& e, const Value& a, const Value& b) { return e.node("Or", {a, b}); }
Value truth(Emission& e, const Value& value) { return e.cast(value, DType::boolean); }

// ---- Comparisons

Value less(Emission& e, const Value& a, const Value& b) {
  if (is_bool(a)) return logical_and(e, logical_not(e, a), b);
  if (is_floating(a) || e.at_least(9)) return e.node("Less", {a, b});
  const Value x = e.cast(a, DType::f64), y = e.cast(b, DType::f64);
  const Value apart = e.node("Less", {x, y});
  if (is_exact_in(a.dtype, DType::f64)) return apart;
  // Two integers that are one double lie close together: their difference is exact.
  const Value below = e.node("Less", {e.cast(subtract(e, a, b), DType::f64), e.scalar(DType::f64, 0)});
  return logical_or(e, apart, logical_and(e, logical_not(e, e.node("Less", {y, x})), below));
}

Value greater(Emission& e, const Value& a, const Value& b) {
  return !is_bool(a) && (is_floating(a) || e.at_least(9)) ? e.node("Greater", {a, b}) : less(e, b, a);
}

namespace {

// Not `opposite`, and false where an operand is NaN.
Value unless(Emission& e, Value opposite, const Value& a, const Value& b) {
  if (minds_nan(e, a)) opposite = logical_or(e, opposite, is_nan(e, a));
  if (b.id != a.id && minds_nan(e, b)) opposite = logical_or(e, opposite, is_nan(e, b));
  return logical_not(e, opposite);
}

}  // namespace

Value less_equal(Emission& e, const Value& a, const Value& b) {
  if (!is_bool(a) && e.at_least(12)) return e.node("LessOrEqual", {a, b});
  return unless(e, less(e, b, a), a, b);
}

Value greater_equal(Emission& e, const Value& a, const Value& b) {
  if (!is_bool(a) && e.at_least(12)) return e.node("GreaterOrEqual", {a, b});
  return unless(e, less(e, a, b), a, b);
}

Value equal(Emission& e, const Value& a, const Value& b) {
  if (!is_floating(a) || e.at_least(11)) return e.node("Equal", {a, b});
  return unless(e, logical_or(e, less(e, a, b), greater(e, a, b)), a, b);
}

Value not_equal(Emission& e, const Value& a, const Value& b) {
  if (is_bool(a)) return e.node("Xor", {a, b});
  return logical_not(e, equal(e, a, b));
}

Value is_nan(Emission& e, const Value& floating) {
  if (e.at_least(9)) return e.node("IsNaN", {floating});
  const Value below = e.node("Less", {floating, e.scalar(floating.dtype, 1)});
  return logical_not(e, logical_or(e, below, e.node("Greater", {floating, e.scalar(floating.dtype, 0)})));
}

Value is_infinite(Emission& e, const Value& floating) {
  if (e.at_least(10)) return e.node("IsInf", {floating});
  return e.node("Greater", {e.node("Abs", {floating}), e.scalar(floating.dtype, largest(floating.dtype))});
}

// Recognizes -0 by its reciprocal, and -inf by itself.
Value is_negative(Emission& e, const Value& value) {
  const Value zero = e.scalar(value.dtype, 0);
  if (!is_floating(value)) return less(e, value, zero);
  if (e.at_least(26)) {
    const DType bits = ir::element_bytes(value.dtype) == 8   ? DType::i64
                       : ir::element_bytes(value.dtype) == 4 ? DType::i32
                                                             : DType::i16;
    const Value whole = e.node("BitCast", {value}, {{"to", onnx::data_type(bits)}}, bits);
    return less(e, whole, e.scalar(bits, 0));
  }
  return logical_or(e, e.node("Less", {value, zero}), e.node("Less", {e.node("Reciprocal", {value}), zero}));
}

// ---- Selection

Value where(Emission& e, const Value& condition, const Value& then, const Value& otherwise) {
  if (is_floating(then) || e.at_least(9)) return e.node("Where", {condition, then, otherwise});
  if (is_bool(then)) return logical_or(e, logical_and(e, condition, then), logical_and(e, logical_not(e, condition), otherwise));
  const Value difference = e.node("Sub", {then, otherwise});  // wraps and wraps back
  return e.node("Add", {otherwise, e.node("Mul", {difference, e.cast(condition, then.dtype)})});
}

namespace {

// Max and Min broadcast from opset 8 on: before, zeros of the other's sizes are added.
std::pair<Value, Value> of_one_shape(Emission& e, const Value& a, const Value& b) {
  if (e.at_least(8)) return {a, b};
  const auto zeros = [&](const Value& like) { return e.cast(e.node("Less", {like, like}), like.dtype); };
  const bool single = constant_number(e, b).has_value();
  return {single ? a : e.node("Add", {a, zeros(b)}), e.node("Add", {b, zeros(a)})};
}

Value by_operator_or_logic(Emission& e, const char* op, const char* on_bools, const Value& a, const Value& b) {
  if (is_bool(a)) return e.node(on_bools, {a, b});
  if (!is_floating(a) && !e.at_least(12))
    return op == std::string_view("Max") ? where(e, less(e, a, b), b, a) : where(e, less(e, a, b), a, b);
  const auto [x, y] = of_one_shape(e, a, b);
  return e.node(op, {x, y});
}

}  // namespace

Value maximum(Emission& e, const Value& a, const Value& b) { return by_operator_or_logic(e, "Max", "Or", a, b); }
Value minimum(Emission& e, const Value& a, const Value& b) { return by_operator_or_logic(e, "Min", "And", a, b); }

Value clamped(Emission& e, const Value& value, const Value& low, const Value& high) {
  const auto fits = [&](const Value& bound) {
    if (!bound) return !e.at_least(8);
    const auto* data = e.constant_of(bound);
    return data && data->dims.empty() && !may_be_nan(e, bound);
  };
  const bool kernel =
      value.dtype == DType::f32 || value.dtype == DType::f16 || value.dtype == DType::bf16 || (!is_bool(value) && e.at_least(12));
  // Bounds in the wrong order: PyTorch gives the upper one, and ONNX Runtime doesn't load a Clip whose attributes are such.
  const auto least = low ? constant_number(e, low) : std::nullopt, most = high ? constant_number(e, high) : std::nullopt;
  const bool crossed = least && most && *least > *most;
  if (kernel && fits(low) && fits(high) && !crossed) {
    Arguments bounds;
    // Clip's own bounds are the largest finite numbers.
    bounds.push_back({"min", low ? low : e.scalar(value.dtype, -infinity)});
    bounds.push_back({"max", high ? high : e.scalar(value.dtype, infinity)});
    return e.node("Clip", {value}, bounds);
  }
  Value made = value;
  if (low) made = maximum(e, made, low);
  if (high) made = minimum(e, made, high);
  return made;
}

// ---- Arithmetic

Value add(Emission& e, const Value& a, const Value& b) { return e.node(is_bool(a) ? "Or" : "Add", {a, b}); }
Value subtract(Emission& e, const Value& a, const Value& b) { return e.node("Sub", {a, b}); }
Value multiply(Emission& e, const Value& a, const Value& b) { return e.node(is_bool(a) ? "And" : "Mul", {a, b}); }
Value divide(Emission& e, const Value& a, const Value& b) { return e.node("Div", {a, b}); }

Value negated(Emission& e, const Value& value) {
  if (is_unsigned(value.dtype)) return subtract(e, e.scalar(value.dtype, 0), value);
  return e.node("Neg", {value});
}

Value absolute(Emission& e, const Value& value) {
  return is_unsigned(value.dtype) || is_bool(value) ? value : e.node("Abs", {value});
}

Value sign(Emission& e, const Value& value) {
  if (is_bool(value)) return value;
  if (e.at_least(9)) {
    const Value made = e.node("Sign", {value});
    // ONNX doesn't define its result for NaN.
    return minds_nan(e, value) ? where(e, is_nan(e, value), e.scalar(value.dtype, 0), made) : made;
  }
  const Value zero = e.scalar(value.dtype, 0);
  return subtract(e, e.cast(greater(e, value, zero), value.dtype), e.cast(less(e, value, zero), value.dtype));
}

Value truncated(Emission& e, const Value& value) {
  if (!is_floating(value)) return value;
  const Value magnitude = e.node("Floor", {e.node("Abs", {value})});
  return e.node("Mul", {e.at_least(9) ? e.node("Sign", {value}) : sign(e, value), magnitude});
}

Value constant(Emission& e, const Value& like, double number) { return e.scalar(like.dtype, number); }
Value plus(Emission& e, const Value& x, double number) { return add(e, x, constant(e, x, number)); }
Value times(Emission& e, const Value& x, double number) { return multiply(e, x, constant(e, x, number)); }
Value one_over(Emission& e, const Value& x) { return e.node("Div", {constant(e, x, 1), x}); }

Value node(Emission& e, const char* op, const Value& x) { return e.node(op, {x}); }

Value filled_like(Emission& e, const Value& like, DType dtype, double value) {
  if (e.at_least(9))
    return e.node("ConstantOfShape", {e.node("Shape", {like})},
                  {{"value", onnx::make_tensor(dtype, {1}, std::vector<double>{value})}}, dtype);
  const Value falses = like.dtype == DType::boolean ? logical_and(e, like, logical_not(e, like)) : less(e, like, like);
  const Value zeros = e.cast(falses, dtype == DType::boolean ? DType::f32 : dtype);
  return e.cast(e.node("Add", {zeros, e.scalar(zeros.dtype, value)}), dtype);
}

}  // namespace compatcheck::handlers

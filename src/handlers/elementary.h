// Elementwise operations with PyTorch's meaning, at any opset and for any dtype: they replace operators that lack the dtype at
// an opset, and treat NaN as PyTorch does. The operands of one call have one dtype and broadcast.
#pragma once

#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "handlers/emission.h"

namespace compatcheck::handlers {

using BinaryFunction = Value (*)(Emission&, const Value&, const Value&);

// torch.result_type of these arguments; of Python's numbers alone Python's: i64, f64 or bool.
DType result_type(const Emission& e, std::initializer_list<std::string_view> arguments);
// The first two arguments of the schema: self and other, or a and b.
std::pair<std::string_view, std::string_view> operand_names(const Emission& e);
// In their result_type.
std::pair<Value, Value> operands(Emission& e);
// The only one, in the dtype of the result: of a tensor or of a number.
Value single_operand(Emission& e);

// ---- What is known of a value
bool is_floating(const Value& value);
bool is_unsigned(DType dtype);
bool may_be_nan(Emission& e, const Value& value);
bool minds_nan(Emission& e, const Value& value);  // NaN is possible, and the result must be exact for NaN, too
bool may_be_zero(Emission& e, const Value& value);
std::optional<int> sign_of(Emission& e, const Value& value);  // 1 or -1 of a constant whose elements all have that sign
std::optional<double> constant_number(Emission& e, const Value& value);  // number of a constant with one element
bool is_exact_in(DType dtype, DType wider);                              // every value of `dtype` is a value of `wider`
double largest(DType floating);                                          // largest finite number
inline constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- Logic, on bool
Value logical_not(Emission& e, const Value& a);
Value logical_and(Emission& e, const Value& a, const Value& b);
Value logical_or(Emission& e, const Value& a, const Value& b);
Value truth(Emission& e, const Value& value);  // differs from 0, as NaN does

// ---- Comparisons: false if an operand is NaN, except not_equal
Value less(Emission& e, const Value& a, const Value& b);
Value greater(Emission& e, const Value& a, const Value& b);
Value less_equal(Emission& e, const Value& a, const Value& b);
Value greater_equal(Emission& e, const Value& a, const Value& b);
Value equal(Emission& e, const Value& a, const Value& b);
Value not_equal(Emission& e, const Value& a, const Value& b);
Value is_nan(Emission& e, const Value& floating);
Value is_infinite(Emission& e, const Value& floating);
Value is_negative(Emission& e, const Value& value);  // the sign bit, except that of a NaN

// ---- Selection
Value where(Emission& e, const Value& condition, const Value& then, const Value& otherwise);
Value maximum(Emission& e, const Value& a, const Value& b);  // NaN where an operand is
Value minimum(Emission& e, const Value& a, const Value& b);
// Either bound may be absent; the upper one wins.
Value clamped(Emission& e, const Value& value, const Value& low, const Value& high);

// ---- Arithmetic; of bools as PyTorch does it
Value add(Emission& e, const Value& a, const Value& b);
Value subtract(Emission& e, const Value& a, const Value& b);
Value multiply(Emission& e, const Value& a, const Value& b);
Value divide(Emission& e, const Value& a, const Value& b);  // Div: of integers rounded to zero
Value negated(Emission& e, const Value& value);
Value absolute(Emission& e, const Value& value);
Value sign(Emission& e, const Value& value);       // 0 of NaN
Value truncated(Emission& e, const Value& value);  // rounds toward zero

// ---- With numbers, in the dtype of the value
Value constant(Emission& e, const Value& like, double number);
Value plus(Emission& e, const Value& x, double number);
Value times(Emission& e, const Value& x, double number);
Value one_over(Emission& e, const Value& x);  // uses Div

// An operator with one input.
Value node(Emission& e, const char* op, const Value& x);
// `value` everywhere, of `like`'s sizes.
Value filled_like(Emission& e, const Value& like, DType dtype, double value);

}  // namespace compatcheck::handlers

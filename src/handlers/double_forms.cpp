#include "handlers/double_forms.h"

#include <numbers>
#include <numeric>

#include "handlers/compute.h"

namespace compatcheck::handlers {
namespace {

Value minus_from(Emission& e, double number, const Value& x) { return subtract(e, constant(e, x, number), x); }
bool is_double(const Value& x) { return x.dtype == DType::f64; }

// The rank that all values of an elementwise call have, or none: a number.
std::int64_t result_rank(Emission& e) {
  const auto* tensor = e.call.facts().of(e.call.node().output(0)).tensor();
  return tensor ? e.output_rank() : 0;
}

// Coefficients from the highest power on: the powers in one more dimension, and their sum as a product with a vector.
Value sum_of_powers(Emission& e, const Value& x, const Doubles& coefficients) {
  const auto count = static_cast<std::int64_t>(coefficients.size());
  Doubles powers(coefficients.size());
  for (std::size_t i = 0; i < powers.size(); ++i) powers[i] = static_cast<double>(powers.size() - 1 - i);
  const std::int64_t rank = result_rank(e);
  const Value apart = e.build.unsqueeze(x, {rank});
  const Value raised = e.node("Pow", {apart, e.build.constant(onnx::make_tensor(x.dtype, {count}, powers))});
  // ONNX Runtime's MatMul with a vector fails where there are no elements.
  const Value column = e.build.constant(onnx::make_tensor(x.dtype, {count, 1}, coefficients));
  const Value made = e.node("MatMul", {raised, column});
  return e.build.squeeze(made, {rank});
}

// erf(x) / x as a polynomial of x² up to 1, within 1e-17.
const Doubles& series_of_error() {
  static const Doubles coefficients = {-7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07,
                                       1.6447424703317362e-06, -1.492473690741966e-05, 0.00012055294904839707,
                                       -0.0008548325975389692, 0.0052239776071164225,  -0.02686617064323777,
                                       0.11283791670945006,    -0.37612638903183543,   1.1283791670955126};
  return coefficients;
}

// erfc(x) · exp(x²) / t as a polynomial of 2t - 1, where t = 2 / (2 + x): within 1e-16 of all x that aren't negative.
const Doubles& series_of_tail() {
  static const Doubles coefficients = {
      -9.743115754914082e-10,  -1.89831857179008e-09,   1.2683080316045675e-08, 6.443597925046653e-09,   -6.818076599065568e-08,
      3.620168326093879e-08,   1.7630181517105487e-07,  -3.265474979200386e-07, -1.1319613509521392e-08, 1.0308565838096152e-06,
      -1.8167079024791187e-06, -5.77822298179878e-07,   8.05865461413893e-06,   -1.0842910058395442e-05, -1.707402515170848e-05,
      7.223416759239389e-05,   -1.7185781852311767e-05, -0.0003315365730859826, 0.00041864803692931907,  0.0015453060137318342,
      -0.0032395925341297785,  -0.01075533094401701,    0.01822111575344406,    0.13973604627801434,     0.3435803422069053,
      0.5107913526210115};
  return coefficients;
}

Value scaled_tail_of_error(Emission& e, const Value& size) {
  const Value t = divide(e, constant(e, size, 2), plus(e, size, 2));
  return multiply(e, sum_of_powers(e, plus(e, times(e, t, 2), -1), series_of_tail()), t);
}

Value tail_of_error(Emission& e, const Value& size) {
  return multiply(e, scaled_tail_of_error(e, size), node(e, "Exp", node(e, "Neg", multiply(e, size, size))));
}

// log(1 + x) with all digits: the part of x that 1 + x loses is added, divided by the sum.
Value corrected_log(Emission& e, const Value& x) {
  const Value sum = plus(e, x, 1), logarithm = node(e, "Log", sum);
  const Value lost = subtract(e, x, plus(e, sum, -1));
  const Value corrected = add(e, logarithm, divide(e, lost, sum));
  return where(e, less(e, absolute(e, x), constant(e, x, 0.5)), corrected, logarithm);
}

}  // namespace

// ---- Angles

Value tangent(Emission& e, const Value& x) {
  return is_double(x) ? divide(e, node(e, "Sin", x), node(e, "Cos", x)) : node(e, "Tan", x);
}

// One step from the angle in single precision: tan(a - b) of both is exact, and so small that it is the angle. Numerator and
// denominator are divided by 1 + |x|, so that infinity stays a number.
Value arc_tangent(Emission& e, const Value& x) {
  if (!is_double(x)) return node(e, "Atan", x);
  const Value near = e.cast(node(e, "Atan", e.cast(x, DType::f32)), DType::f64);
  const Value one = node(e, "Reciprocal", plus(e, absolute(e, x), 1));
  const Value sides =
      subtract(e, e.cast(greater(e, x, constant(e, x, 0)), x.dtype), e.cast(less(e, x, constant(e, x, 0)), x.dtype));
  const Value height = node(e, "Reciprocal", add(e, node(e, "Reciprocal", x), sides));
  const Value cosine = node(e, "Cos", near), sine = node(e, "Sin", near);
  const Value off = divide(e, subtract(e, multiply(e, height, cosine), multiply(e, one, sine)),
                           add(e, multiply(e, one, cosine), multiply(e, height, sine)));
  return add(e, near, off);
}

Value arc_sine(Emission& e, const Value& x) {
  if (!is_double(x)) return node(e, "Asin", x);
  const Value square = multiply(e, minus_from(e, 1, x), plus(e, x, 1));
  return arc_tangent(e, divide(e, x, node(e, "Sqrt", square)));
}

Value arc_cosine(Emission& e, const Value& x) {
  if (!is_double(x)) return node(e, "Acos", x);
  return times(e, arc_tangent(e, node(e, "Sqrt", divide(e, minus_from(e, 1, x), plus(e, x, 1)))), 2);
}

// ---- Logarithms

// In single precision 2 · atanh(x / (x + 2)) keeps the digits of small numbers.
Value log_of_one_plus(Emission& e, const Value& x) {
  if (!e.at_least(9)) return node(e, "Log", plus(e, x, 1));
  if (is_double(x)) return corrected_log(e, x);
  const Value small = times(e, node(e, "Atanh", divide(e, x, plus(e, x, 2))), 2);
  return where(e, less(e, absolute(e, x), constant(e, x, 0.5)), small, node(e, "Log", plus(e, x, 1)));
}

// sign(x) · log1p(|x| + x² / (1 + √(x² + 1))); of large numbers log(2|x|).
Value area_sine(Emission& e, const Value& x) {
  if (!is_double(x)) return node(e, "Asinh", x);
  const Value size = absolute(e, x), square = multiply(e, x, x);
  const Value more = divide(e, square, plus(e, node(e, "Sqrt", plus(e, square, 1)), 1));
  const Value large = plus(e, node(e, "Log", size), std::numbers::ln2);
  const Value made = where(e, greater(e, size, constant(e, x, 1e8)), large, corrected_log(e, add(e, size, more)));
  return where(e, less(e, x, constant(e, x, 0)), node(e, "Neg", made), made);
}

// log1p(t + √t · √(t + 2)), where t = x - 1.
Value area_cosine(Emission& e, const Value& x) {
  if (!is_double(x)) return node(e, "Acosh", x);
  const Value t = plus(e, x, -1);
  return corrected_log(e, add(e, t, multiply(e, node(e, "Sqrt", t), node(e, "Sqrt", plus(e, t, 2)))));
}

// log1p(2x / (1 - x)) / 2
Value area_tangent(Emission& e, const Value& x) {
  if (!is_double(x)) return node(e, "Atanh", x);
  return times(e, corrected_log(e, divide(e, times(e, x, 2), minus_from(e, 1, x))), 0.5);
}

// ---- Errors

Value error_function(Emission& e, const Value& x) {
  if (!is_double(x)) return node(e, "Erf", x);
  const Value size = absolute(e, x);
  const Value small = multiply(e, size, sum_of_powers(e, multiply(e, size, size), series_of_error()));
  const Value made = where(e, less(e, size, constant(e, x, 1)), small, minus_from(e, 1, tail_of_error(e, size)));
  return where(e, less(e, x, constant(e, x, 0)), node(e, "Neg", made), made);
}

Value complementary_error(Emission& e, const Value& x) {
  if (!is_double(x)) return minus_from(e, 1, node(e, "Erf", x));
  const Value tail = tail_of_error(e, absolute(e, x));
  return where(e, less(e, x, constant(e, x, 0)), minus_from(e, 2, tail), tail);
}

Value scaled_complementary_error(Emission& e, const Value& x) { return scaled_tail_of_error(e, x); }

// ---- Bent lines

Value negative_part(Emission& e, const Value& x) { return node(e, "Neg", node(e, "Relu", node(e, "Neg", x))); }

Value leaky(Emission& e, const Value& x, double slope) {
  if (!is_double(x)) return e.node("LeakyRelu", {x}, {{"alpha", slope}});
  return add(e, node(e, "Relu", x), times(e, negative_part(e, x), slope));
}

// exp(x) - 1 is tanh(x/2) · (exp(x) + 1): nothing cancels near 0.
Value exponential_linear(Emission& e, const Value& x, double alpha) {
  if (!is_double(x)) return e.node("Elu", {x}, {{"alpha", alpha}});
  const Value below = negative_part(e, x);
  const Value bent = multiply(e, node(e, "Tanh", times(e, below, 0.5)), plus(e, node(e, "Exp", below), 1));
  return add(e, node(e, "Relu", x), times(e, bent, alpha));
}

// ---- Determinants

namespace {

constexpr std::int64_t most_steps = 32;  // same limit as in the condition doubles_of_few_rows

// One step of elimination: the row whose first element is the greatest changes places with the first row.
Value eliminate_column(Emission& e, Value& matrices, std::int64_t size) {
  const auto row_and_column = [&](const Value& x, std::int64_t axis, std::int64_t from, std::int64_t to) {
    return part(e, x, axis, from, to);
  };
  const Value column = row_and_column(matrices, 2, 0, 1);
  const Value place = e.node("ArgMax", {absolute(e, column)}, {{"axis", 1}, {"keepdims", 1}});  // [batch, 1, 1]
  Ints counted(static_cast<std::size_t>(size));
  std::iota(counted.begin(), counted.end(), 0);
  const Value here = equal(e, e.build.reshape(e.integers(counted), {1, size, 1}), place);
  const Value picked = where(e, here, matrices, constant(e, matrices, 0));
  const Value row = e.node("ReduceSum", {picked}, {{"axes", Ints{1}}, {"keepdims", 1}});
  const Value pivot = row_and_column(row, 2, 0, 1), zero = constant(e, matrices, 0);
  const Value swapped = where(e, here, row_and_column(matrices, 1, 0, 1), matrices);
  const Value below = row_and_column(swapped, 1, 1, to_end);
  const Value divisor = where(e, equal(e, pivot, zero), constant(e, pivot, 1), pivot);
  const Value factors = divide(e, row_and_column(below, 2, 0, 1), divisor);
  matrices = subtract(e, row_and_column(below, 2, 1, to_end), multiply(e, factors, row_and_column(row, 2, 1, to_end)));
  const Value stayed = equal(e, place, e.scalar(DType::i64, 0));
  return where(e, stayed, pivot, node(e, "Neg", pivot));
}

}  // namespace

Value determinant(Emission& e, const Value& matrices, const Shape& shape) {
  const auto size = shape.size() < 2 ? std::nullopt : shape.back().number();
  if (!is_double(matrices) || !size || *size < 1 || *size > most_steps) return node(e, "Det", matrices);
  Value left = e.build.reshape(matrices, {-1, *size, *size});
  std::optional<Value> product;
  for (std::int64_t rest = *size; rest > 1; --rest) {
    const Value pivot = eliminate_column(e, left, rest);
    product = product ? multiply(e, *product, pivot) : pivot;
  }
  const Value made = product ? multiply(e, *product, left) : left;
  return e.reshape(made, {Dim::unknown(), 1, 1}, Shape(shape.begin(), shape.end() - 2));
}

}  // namespace compatcheck::handlers

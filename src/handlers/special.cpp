// Special functions: exponentials, logarithms and error functions that ONNX has no operator for. Others: bessel.cpp, gamma.cpp,
// polynomial.cpp.
#include <cmath>
#include <limits>
#include <numbers>

#include "handlers/double_forms.h"
#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/series.h"

namespace compatcheck::handlers {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Value node(Emission& e, const char* op, const Value& x) { return e.node(op, {x}); }
Value is_zero(Emission& e, const Value& x) { return equal(e, x, constant(e, x, 0)); }

Value softplus_of_negative(Emission& e, const Value& x) {
  if (x.dtype != DType::f64) return node(e, "Softplus", x);
  return node(e, "Log", plus(e, node(e, "Exp", x), 1));
}

void log1p(Emission& e) { e.give(log_of_one_plus(e, single_operand(e))); }

// tanh(x/2) · (exp(x) + 1): nothing cancels near 0.
void expm1(Emission& e) {
  const Value x = single_operand(e);
  e.give(multiply(e, node(e, "Tanh", times(e, x, 0.5)), plus(e, node(e, "Exp", x), 1)));
}

void log2(Emission& e) {
  const Value logarithm = node(e, "Log", single_operand(e));
  e.give(divide(e, logarithm, constant(e, logarithm, std::numbers::ln2)));
}

void log10(Emission& e) {
  const Value logarithm = node(e, "Log", single_operand(e));
  e.give(divide(e, logarithm, constant(e, logarithm, std::numbers::ln10)));
}

void logit(Emission& e) {
  Value x = single_operand(e);
  if (e.given("eps")) {
    // With bounds that cross the lower one is looked at first, not last as by clamp.
    const double eps = e.number("eps");
    const Value low = constant(e, x, eps), high = constant(e, x, 1 - eps);
    x = !(eps <= 0.5) ? where(e, less(e, x, low), low, where(e, greater(e, x, high), high, x)) : clamped(e, x, low, high);
  }
  e.give(node(e, "Log", divide(e, x, subtract(e, constant(e, x, 1), x))));
}

void erfc(Emission& e) { e.give(complementary_error(e, single_operand(e))); }

void ndtr(Emission& e) {
  const Value x = single_operand(e);
  const Value scaled = times(e, x, std::numbers::sqrt2 / 2);
  if (x.dtype == DType::f64) return e.give(times(e, complementary_error(e, node(e, "Neg", scaled)), 0.5));
  e.give(times(e, plus(e, node(e, "Erf", scaled), 1), 0.5));
}

// -x log x, 0 at 0, -inf below.
void entr(Emission& e) {
  const Value x = single_operand(e), zero = constant(e, x, 0);
  const Value inside = node(e, "Neg", multiply(e, x, node(e, "Log", x)));
  e.give(where(e, greater(e, x, zero), inside, where(e, less(e, x, zero), constant(e, x, -infinity), x)));
}

// x · log y, 0 where x is 0, unless y is NaN.
template <bool of_one_plus>
void xlogy(Emission& e) {
  const DType dtype = e.output_dtype();
  const auto [self, other] = operand_names(e);
  const Value x = e.number_value(self, dtype), y = e.number_value(other, dtype);
  const Value product = multiply(e, x, of_one_plus ? log_of_one_plus(e, y) : node(e, "Log", y));
  const Value zero = logical_and(e, is_zero(e, x), logical_not(e, is_nan(e, y)));
  e.give(where(e, zero, constant(e, x, 0), product));
}

// Softplus of the negated distance stays finite; equal infinities are their sum.
template <bool of_two>
void logaddexp(Emission& e) {
  const auto [a, b] = operands(e);
  const Value most = maximum(e, a, b), distance = node(e, "Neg", absolute(e, subtract(e, a, b)));
  const double unit = of_two ? std::numbers::ln2 : 1;
  const Value tail = softplus_of_negative(e, of_two ? times(e, distance, unit) : distance);
  const Value sum = add(e, most, of_two ? times(e, tail, 1 / unit) : tail);
  e.give(where(e, is_nan(e, distance), most, sum));
}

// sin(πx) / πx, and 1 at 0.
void sinc(Emission& e) {
  const Value x = single_operand(e), angle = times(e, x, std::numbers::pi);
  const Value zero = is_zero(e, x);
  if (e.at_least(9)) return e.give(where(e, zero, constant(e, x, 1), divide(e, node(e, "Sin", angle), angle)));
  const Value one = e.cast(zero, x.dtype);
  e.give(divide(e, add(e, node(e, "Sin", angle), one), add(e, angle, one)));
}

// Two rational forms and two steps of Newton's. Source: calc_erfinv of ATen/native/Math.h.
void erfinv(Emission& e) {
  const Value y = single_operand(e), size = absolute(e, y), one = constant(e, y, 1);
  const Value z = multiply(e, y, y);
  const Value middle = divide(e, multiply(e, y, polynomial(e, z, Doubles{-0.140543331, 0.914624893, -1.645349621, 0.886226899})),
                              polynomial(e, z, Doubles{0.012229801, -0.329097515, 1.442710462, -2.118377725, 1}));
  const Value t = node(e, "Sqrt", node(e, "Neg", node(e, "Log", times(e, subtract(e, one, size), 0.5))));
  const Value tail = divide(e, polynomial(e, t, Doubles{1.641345311, 3.429567803, -1.624906493, -1.970840454}),
                            polynomial(e, t, Doubles{1.637067800, 3.543889200, 1}));
  const Value sign = node(e, "Sign", y);
  Value x = where(e, greater(e, size, constant(e, y, 0.7)), multiply(e, tail, sign), middle);
  for (int step = 0; step < 2; ++step) {
    const Value slope = times(e, node(e, "Exp", node(e, "Neg", multiply(e, x, x))), 2 / std::sqrt(std::numbers::pi));
    x = subtract(e, x, divide(e, subtract(e, error_function(e, x), y), slope));
  }
  e.give(where(e, equal(e, size, one), times(e, y, infinity), x));
}

}  // namespace

void register_special(Registry& registry) {
  registry.handler("aten::log1p", log1p);
  registry.handler("aten::expm1", expm1);
  registry.handler("aten::log2", log2);
  registry.handler("aten::log10", log10);
  registry.handler("aten::logit", logit);
  registry.handler("aten::erfc", erfc);
  registry.handler("aten::special_ndtr", ndtr);
  registry.handler("aten::special_entr", entr);
  registry.handler("aten::xlogy", xlogy<false>);
  registry.handler("aten::special_xlog1py", xlogy<true>);
  registry.handler("aten::logaddexp", logaddexp<false>);
  registry.handler("aten::logaddexp2", logaddexp<true>);
  registry.handler("aten::sinc", sinc);
  registry.handler("aten::erfinv", erfinv);
}

}  // namespace compatcheck::handlers

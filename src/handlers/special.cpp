// Special functions: exponentials, logarithms and error functions that ONNX has no operator for. Polynomials:
// polynomial.cpp.
#include <cmath>
#include <numbers>
#include <span>

#include "handlers/double_forms.h"
#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/series.h"

namespace compatcheck::handlers {
namespace {

Value is_zero(Emission& e, const Value& x) { return equal(e, x, constant(e, x, 0)); }

Value softplus_of_negative(Emission& e, const Value& x) {
  if (x.dtype != DType::f64) return node(e, "Softplus", x);
  return node(e, "Log", plus(e, node(e, "Exp", x), 1));
}

void erf(Emission& e) { e.give(error_function(e, single_operand(e))); }

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
    // If the bounds cross, the lower one is compared first, not last as by clamp.
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

// exp(x²) · erfc(x)
Value scaled_error(Emission& e, const Value& x) {
  const Value positive = scaled_complementary_error(e, absolute(e, x));
  const Value whole = times(e, node(e, "Exp", multiply(e, x, x)), 2);
  return where(e, less(e, x, constant(e, x, 0)), subtract(e, whole, positive), positive);
}

void erfcx(Emission& e) { e.give(scaled_error(e, e.cast(single_operand(e), DType::f64))); }

// Below -1 the logarithm of the scaled function, in which nothing underflows.
void log_ndtr(Emission& e) {
  const Value x = e.cast(single_operand(e), DType::f64), t = times(e, x, std::numbers::sqrt2 / 2);
  const Value tail = node(e, "Log", times(e, scaled_complementary_error(e, absolute(e, t)), 0.5));
  const Value upper = log_of_one_plus(e, times(e, complementary_error(e, t), -0.5));
  e.give(where(e, less(e, x, constant(e, x, -1)), subtract(e, tail, multiply(e, t, t)), upper));
}

// ---- The inverse of ndtr: rational forms in the middle, in the tails and far out. Source: Cephes.

constexpr double p0[] = {-59.96335010141079, 98.00107541859997, -56.67628574690703, 13.931260938727968, -1.2391658386738125};
constexpr double q0[] = {1.0,
                         1.9544885833814176,
                         4.676279128988815,
                         86.36024213908905,
                         -225.46268785411937,
                         200.26021238006066,
                         -82.03722561683334,
                         15.90562251262117,
                         -1.1833162112133};
constexpr double p1[] = {4.0554489230596245, 31.525109459989388,  57.16281922464213,    44.08050738932008,     14.684956192885803,
                         2.1866330685079025, -0.1402560791713545, -0.03504246268278482, -0.0008574567851546854};
constexpr double q1[] = {1.0,
                         15.779988325646675,
                         45.39076351288792,
                         41.3172038254672,
                         15.04253856929075,
                         2.504649462083094,
                         -0.14218292285478779,
                         -0.03808064076915783,
                         -0.0009332594808954574};
constexpr double p2[] = {3.2377489177694603,     6.915228890689842,      3.9388102529247444,
                         1.3330346081580755,     0.20148538954917908,    0.012371663481782003,
                         0.00030158155350823543, 2.6580697468673755e-06, 6.239745391849833e-09};
constexpr double q2[] = {1.0,
                         6.02427039364742,
                         3.6798356385616087,
                         1.3770209948908132,
                         0.21623699359449663,
                         0.013420400608854318,
                         0.00032801446468212774,
                         2.8924786474538068e-06,
                         6.790194080099813e-09};

void ndtri(Emission& e) {
  const Value whole = single_operand(e), one = constant(e, whole, 1);
  const double edge = std::exp(-2);
  const auto ratio = [&](const Value& x, std::span<const double> above, std::span<const double> below) {
    return divide(e, polynomial(e, x, above), polynomial(e, x, below));
  };
  const Value high = greater(e, whole, constant(e, whole, 1 - edge));
  const Value y = where(e, high, subtract(e, one, whole), whole), off = plus(e, y, -0.5), square = multiply(e, off, off);
  const Value middle =
      times(e, add(e, off, multiply(e, off, multiply(e, square, ratio(square, p0, q0)))), std::sqrt(2 * std::numbers::pi));
  const Value x = node(e, "Sqrt", times(e, node(e, "Log", y), -2)), z = node(e, "Reciprocal", x);
  const Value near = multiply(e, z, ratio(z, p1, q1)), far = multiply(e, z, ratio(z, p2, q2));
  const Value start = subtract(e, x, divide(e, node(e, "Log", x), x));
  const Value tail = subtract(e, start, where(e, less(e, x, constant(e, x, 8)), near, far));
  const Value made = where(e, greater(e, y, constant(e, y, edge)), middle, where(e, high, tail, negated(e, tail)));
  const Value zero = constant(e, whole, 0);
  const Value low_end = where(e, less(e, whole, zero), constant(e, whole, std::nan("")), constant(e, whole, -infinity));
  const Value high_end = where(e, greater(e, whole, one), constant(e, whole, std::nan("")), constant(e, whole, infinity));
  const Value above = where(e, less(e, whole, one), made, high_end);
  e.give(where(e, is_nan(e, whole), whole, where(e, greater(e, whole, zero), above, low_end)));
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
  registry.handler("aten::erf", erf);
  registry.number_handler("aten::erf", erf);
  registry.handler("aten::erfc", erfc);
  registry.handler("aten::special_ndtr", ndtr);
  registry.handler("aten::special_erfcx", erfcx);
  registry.handler("aten::special_log_ndtr", log_ndtr);
  registry.handler("aten::special_ndtri", ndtri);
  registry.handler("aten::special_entr", entr);
  registry.handler("aten::xlogy", xlogy<false>);
  registry.handler("aten::special_xlog1py", xlogy<true>);
  registry.handler("aten::logaddexp", logaddexp<false>);
  registry.handler("aten::logaddexp2", logaddexp<true>);
  registry.handler("aten::sinc", sinc);
  registry.handler("aten::erfinv", erfinv);
}

}  // namespace compatcheck::handlers

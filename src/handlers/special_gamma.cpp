// The gamma function's logarithm and its derivatives, and Hurwitz's zeta function, all in double precision. PyTorch's
// formulas, except that its loops up to a bound have a fixed number of terms here. Source: ATen/native/Math.h, and the Cephes
// Math Library.
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numbers>
#include <optional>

#include "handlers/families.h"
#include "handlers/loop.h"
#include "handlers/series.h"

namespace compatcheck::handlers {
namespace {

constexpr double pi = std::numbers::pi;

// Returns the distance from the nearest integer: between -1/2 and 1/2.
Value off_integer(Emission& e, const Value& x) { return subtract(e, x, node(e, "Floor", plus(e, x, 0.5))); }

// Stirling's series for numbers from 8 on; numbers below are moved by 8: Γ(x) = Γ(x + 8) / (x (x + 1) … (x + 7)). Negative
// numbers go by reflection.
Value log_gamma(Emission& e, const Value& x) {
  constexpr double series[] = {1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12};
  const Value negative = less(e, x, constant(e, x, 0));
  const Value y = where(e, negative, subtract(e, constant(e, x, 1), x), x), small = less(e, y, constant(e, x, 8));
  const Value base = where(e, small, plus(e, y, 8), y), inverse = node(e, "Reciprocal", base);
  const Value rest = multiply(e, polynomial(e, multiply(e, inverse, inverse), series), inverse);
  const Value main = multiply(e, plus(e, base, -0.5), plus(e, node(e, "Log", base), -1));
  const Value large = plus(e, add(e, main, rest), 0.5 * std::log(2 * pi) - 0.5);
  const Value outer = multiply(e, y, plus(e, y, 7));  // (y + 1)(y + 6) is 6 more, …
  const Value product = multiply(e, multiply(e, outer, plus(e, outer, 6)), multiply(e, plus(e, outer, 10), plus(e, outer, 12)));
  // Exactly 0 at 1 and 2: rounding there would count if it were multiplied with infinity.
  const Value roots = absolute(e, multiply(e, plus(e, y, -1), plus(e, y, -2)));
  const Value is_root = less(e, roots, constant(e, x, std::numeric_limits<double>::min()));
  const Value below = subtract(e, large, node(e, "Log", product));
  const Value positive = where(e, is_root, constant(e, x, 0), where(e, small, below, large));
  const Value sine = absolute(e, node(e, "Sin", times(e, off_integer(e, x), pi)));
  const Value reflected = subtract(e, subtract(e, constant(e, x, std::log(pi)), node(e, "Log", sine)), positive);
  const Value whole = less(e, x, constant(e, x, -0x1p53));  // poles
  return where(e, whole, constant(e, x, infinity), where(e, negative, reflected, positive));
}

// The sum of f(x), f(x + 1) … f(x + count - 1), computed in one more dimension.
Value sum_from(Emission& e, const Value& x, int first, int count, const std::function<Value(const Value&)>& f) {
  Doubles steps;
  for (int i = 0; i < count; ++i) steps.push_back(first + i);
  const std::int64_t rank = e.output_rank();
  const Value apart = e.build.unsqueeze(x, {rank});
  const Value offsets = e.build.constant(onnx::make_tensor(x.dtype, {count}, steps));
  return e.node("ReduceSum", {f(add(e, apart, offsets))}, {{"axes", Ints{rank}}, {"keepdims", 0}});
}

Value digamma_of(Emission& e, const Value& x) {
  constexpr double series[] = {1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12};
  const Value negative = less(e, x, constant(e, x, 0));
  const Value y = where(e, negative, subtract(e, constant(e, x, 1), x), x), far = plus(e, y, 10);
  const Value below = sum_from(e, y, 1, 9, [&](const Value& each) { return node(e, "Reciprocal", each); });
  const Value inverse = node(e, "Reciprocal", far), z = multiply(e, inverse, inverse);
  const Value rest = add(e, times(e, inverse, 0.5), multiply(e, z, polynomial(e, z, series)));
  const Value sum = add(e, below, node(e, "Reciprocal", y));  // 1/y is added apart: y may be -0
  const Value positive = subtract(e, subtract(e, node(e, "Log", far), rest), sum);
  const Value off = off_integer(e, x), angle = times(e, off, pi);
  const Value cotangent = divide(e, node(e, "Cos", angle), node(e, "Sin", angle));
  const Value reflected = subtract(e, positive, times(e, cotangent, pi));
  const Value between = greater(e, absolute(e, off), constant(e, x, 0));
  const Value of_negative = where(e, between, reflected, constant(e, x, std::nan("")));
  return where(e, negative, of_negative, positive);
}

// In the dtype of x, as PyTorch has it: π · x is rounded to it.
Value trigamma_of(Emission& e, const Value& x) {
  const Value low = less(e, x, constant(e, x, 0.5));
  const Value sine = node(e, "Sin", times(e, x, pi)), one = constant(e, x, 1);
  const Value reflected = divide(e, constant(e, x, pi * pi), multiply(e, sine, sine));
  const Value y = where(e, low, subtract(e, one, x), x);
  const Value sum = sum_from(e, y, 0, 6, [&](const Value& each) { return node(e, "Reciprocal", multiply(e, each, each)); });
  const Value inverse = node(e, "Reciprocal", plus(e, y, 6)), square = multiply(e, inverse, inverse);
  constexpr double series[] = {1.0 / 42, -1.0 / 30, 1.0 / 6, 0};
  const Value bracket = add(e, plus(e, times(e, inverse, 0.5), 1), polynomial(e, square, series));
  const Value made = add(e, sum, multiply(e, bracket, inverse));
  return where(e, low, subtract(e, reflected, made), made);
}

// ---- Zeta

// An exponent, which polygamma knows.
struct Exponent {
  Value value;
  std::optional<double> known;
};

// The integral and the series that stand for terms beyond w, where the last term was b.
Value zeta_tail(Emission& e, const Exponent& x, const Value& w, const Value& b) {
  constexpr double divisors[] = {12.0,
                                 -720.0,
                                 30240.0,
                                 -1209600.0,
                                 47900160.0,
                                 -1.8924375803183791606e9,
                                 7.47242496e10,
                                 -2.950130727918164224e12,
                                 1.1646782814350067249e14,
                                 -4.5979787224074726105e15,
                                 1.8152105401943546773e17,
                                 -7.1661652561756670113e18};
  const auto rising = [&](int k) {  // (x + k)(x + k + 1)
    if (x.known) return constant(e, w, (*x.known + k) * (*x.known + k + 1));
    return multiply(e, plus(e, x.value, k), plus(e, x.value, k + 1));
  };
  const Value inverse = node(e, "Reciprocal", w), square = multiply(e, inverse, inverse);
  constexpr int last = std::size(divisors) - 1;
  Value series = constant(e, w, 1 / divisors[last]);
  for (int i = last; i-- > 0;) series = plus(e, multiply(e, series, multiply(e, rising(2 * i + 1), square)), 1 / divisors[i]);
  series = multiply(e, multiply(e, series, inverse), x.value);
  const Value integral = divide(e, w, plus(e, x.value, -1));
  return multiply(e, b, plus(e, add(e, integral, series), -0.5));
}

// The sum of (q + k)^-x: nine terms after the first and more until q + k exceeds 9, and the rest as a series unless it is too
// small to count. PyTorch computes the first term in the dtype of the call, and terms of negative q may cancel.
Value zeta_sum(Emission& e, const Exponent& x, const Value& q) {
  const Value power = x.known ? constant(e, q, -*x.known) : negated(e, x.value), zero = constant(e, q, 0);
  const Value first = e.cast(e.cast(e.node("Pow", {q, power}), e.output_dtype()), DType::f64);
  const auto goes_on = [&](const Value& iteration, const Value& a) {
    return logical_or(e, less(e, iteration, e.build.integer(9)), less(e, a, constant(e, a, std::nextafter(9.0, 10.0))));
  };
  const auto states = while_any(
      e, {q, zero, first}, [&](const Value& iteration, const Values& now) { return goes_on(iteration, now[0]); },
      [&](const Value& iteration, const Values& now) -> Values {
        const Value more = goes_on(iteration, now[0]), a = where(e, more, plus(e, now[0], 1), now[0]),
                    b = e.node("Pow", {a, power});
        return {a, b, where(e, more, add(e, now[2], b), now[2])};
      });
  const Value &w = states[0], &b = states[1], &sum = states[2];
  const Value enough = less(e, absolute(e, b), times(e, sum, 1.11022302462515654042E-16));
  return where(e, enough, sum, add(e, sum, zeta_tail(e, x, w, b)));
}

// Poles at integers that aren't positive, and no values between them unless the exponent is whole. Where PyTorch doesn't sum, 1
// stands in for q.
Value zeta_of(Emission& e, const Exponent& x, const Value& q) {
  const Value pole = constant(e, q, infinity), none = constant(e, q, std::nan("")), one = constant(e, q, 1);
  const auto broken = [&](const Value& value) { return less(e, node(e, "Floor", value), value); };
  const Value positive = logical_or(e, greater(e, q, constant(e, q, 0)), is_nan(e, q));
  Value summed = logical_or(e, positive, broken(q));
  if (!x.known)
    summed = logical_and(e, summed,
                         logical_and(e, greater(e, x.value, one), logical_or(e, positive, logical_not(e, broken(x.value)))));
  const Value made = zeta_sum(e, x, where(e, summed, q, one));
  if (x.known) return where(e, summed, made, pole);
  const Value beside = where(e, broken(q), where(e, broken(x.value), none, made), pole);
  const Value beyond_one = logical_or(e, greater(e, x.value, one), is_nan(e, x.value));
  const Value found = where(e, beyond_one, where(e, positive, made, beside), pole);
  return where(e, less(e, x.value, one), none, found);
}

// ---- Operators

Value in_doubles(Emission& e, const char* name) { return e.cast(e.number_value(name, e.output_dtype()), DType::f64); }

void lgamma(Emission& e) { e.give(log_gamma(e, in_doubles(e, "self"))); }
void lgamma_of_number(Emission& e) { e.give(log_gamma(e, single_operand(e))); }
void digamma(Emission& e) { e.give(digamma_of(e, in_doubles(e, "self"))); }

void zeta(Emission& e) {
  const auto [x, q] = operand_names(e);
  e.give(zeta_of(e, {e.cast(e.number_value(x, e.output_dtype()), DType::f64), {}},
                 e.cast(e.number_value(q, e.output_dtype()), DType::f64)));
}

// n! as PyTorch computes it: in the dtype, whose largest number it may exceed.
double factorial(std::int64_t n, DType dtype) {
  const double made = std::exp(std::lgamma(static_cast<double>(n) + 1));
  return made > largest(dtype) ? infinity : made;
}

void polygamma(Emission& e) {
  const DType dtype = e.output_dtype();
  const std::int64_t n = e.integer("n");
  if (n == 0) return digamma(e);
  if (n == 1) {
    const Value x = e.tensor("self", dtype);
    return e.give(trigamma_of(e, dtype == DType::f64 ? x : e.cast(x, DType::f32)));
  }
  const Value q = in_doubles(e, "self");
  const double x = static_cast<double>(n) + 1;
  const Value made = e.cast(zeta_of(e, {constant(e, q, x), x}, q), dtype);
  e.give(times(e, made, (n % 2 ? 1 : -1) * factorial(n, dtype)));
}

// The sum of log Γ(x - i/2) for i below p, and a constant.
void mvlgamma(Emission& e) {
  const Value x = e.tensor("self", e.output_dtype());
  const std::int64_t p = Emission::few(e.integer("p")), rank = e.output_rank();
  Doubles halves;
  for (std::int64_t i = p; i-- > 0;) halves.push_back(-0.5 * static_cast<double>(i));
  const Value offsets = e.build.constant(onnx::make_tensor(x.dtype, {p}, halves));
  const Value each = log_gamma(e, e.cast(add(e, e.build.unsqueeze(x, {rank}), offsets), DType::f64));
  const Value sum = e.node("ReduceSum", {each}, {{"axes", Ints{rank}}, {"keepdims", 0}});
  e.give(plus(e, sum, static_cast<double>(p * (p - 1)) / 4 * std::log(pi)));
}

}  // namespace

void register_special_gamma(Registry& registry) {
  registry.handler("aten::lgamma", lgamma);
  registry.number_handler("aten::lgamma", lgamma_of_number);
  registry.handler("aten::digamma", digamma);
  registry.handler("aten::polygamma", polygamma);
  registry.handler("aten::mvlgamma", mvlgamma);
  registry.handler("aten::special_zeta", zeta);
}

}  // namespace compatcheck::handlers

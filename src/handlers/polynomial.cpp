// Orthogonal polynomials of torch.special, by the recurrences and the cosines that PyTorch computes them with.
// Source: ATen/native/Math.h. The degree is an int64 there: 0 comes of degrees that int64 can't hold, as of those below 0.
#include <functional>

#include "handlers/double_forms.h"
#include "handlers/families.h"
#include "handlers/loop.h"
#include "handlers/series.h"

namespace compatcheck::handlers {
namespace {

constexpr std::int64_t most_unrolled = 24;
constexpr double beyond_int64 = 9223372036854775808.0;

// ---- Degrees

struct Degree {
  Value value;                        // an integer in the dtype of x; -1: no polynomial
  std::optional<std::int64_t> known;  // if it is the same for all elements
};

Degree degree(Emission& e) {
  const Value n = e.number_value("n", e.output_dtype());
  const auto* data = e.constant_of(n);
  if (const auto number = constant_number(e, n); number && data->dims.empty()) {
    const bool counts = *number > -1 && *number < beyond_int64;
    const auto known = counts ? static_cast<std::int64_t>(*number) : -1;
    return {constant(e, n, static_cast<double>(known)), known};
  }
  const Value counts = logical_and(e, greater(e, n, constant(e, n, -1)), less(e, n, constant(e, n, beyond_int64)));
  return {where(e, counts, e.node("Floor", {absolute(e, n)}), constant(e, n, -1)), std::nullopt};
}

// 1 of even degrees, -1 of odd ones.
Value parity(Emission& e, const Value& n) {
  const Value odd = subtract(e, n, times(e, e.node("Floor", {times(e, n, 0.5)}), 2));
  return plus(e, times(e, odd, -2), 1);
}

// ---- Recurrences

using Multiple = std::function<Value(double a, double b)>;  // a·k + b of the degree k
// The polynomial of degree k from those of k - 1 and k - 2.
using Recurrence = std::function<Value(const Multiple& of_k, const Value& before, const Value& earlier)>;

Value unrolled(Emission& e, Value first, std::int64_t n, const Recurrence& step) {
  Value earlier = constant(e, first, 1);
  for (std::int64_t k = 2; k <= n; ++k) {
    const Multiple of_k = [&](double a, double b) { return constant(e, first, a * static_cast<double>(k) + b); };
    const Value made = step(of_k, first, earlier);
    earlier = std::exchange(first, made);
  }
  return first;
}

// Steps for every element up to its own degree; degrees of -1 and 0 keep their values of `start`.
Value looped(Emission& e, const Value& start, const Value& n, const Recurrence& step) {
  const auto degree_of = [&](const Value& iteration, double first) { return plus(e, e.cast(iteration, start.dtype), first); };
  const Values states{filled_like(e, start, start.dtype, 1), start};
  return while_any(
             e, states,
             [&](const Value& iteration, const Values& now) {
               return logical_and(e, less(e, degree_of(iteration, 1), n), logical_not(e, is_nan(e, now[1])));
             },
             [&](const Value& iteration, const Values& now) -> Values {
               const Value k = degree_of(iteration, 2);
               const Multiple of_k = [&](double a, double b) {
                 const Value scaled = a == 1 ? k : times(e, k, a);
                 return b == 0 ? scaled : plus(e, scaled, b);
               };
               return {now[1], where(e, less(e, n, k), now[1], step(of_k, now[1], now[0]))};
             })
      .at(1);
}

// `elsewhere`: where the recurrence isn't asked; absent: nowhere.
Value recurrence(Emission& e, const Value& first, const Degree& n, const Value& elsewhere, const Recurrence& step) {
  if (n.known && *n.known <= most_unrolled) return unrolled(e, first, *n.known, step);
  const Value zero = constant(e, first, 0), one = constant(e, first, 1);
  Value start = first;
  if (!n.known) start = where(e, less(e, n.value, one), where(e, less(e, n.value, zero), zero, one), first);
  return looped(e, start, elsewhere ? where(e, elsewhere, zero, n.value) : n.value, step);
}

// Degrees that are known to be 0 or none; absent for others.
std::optional<double> whole_value(const Degree& n) {
  return n.known && *n.known < 1 ? std::optional(*n.known == 0 ? 1.0 : 0.0) : std::nullopt;
}

// ---- Chebyshev's polynomials

// The value at 1 and, except for the sign of odd degrees, at -1.
Value at_end(Emission& e, const Value& n, char kind, bool upper) {
  if (kind == 'u') return plus(e, n, 1);
  return kind == (upper ? 'w' : 'v') ? plus(e, add(e, n, n), 1) : constant(e, n, 1);
}

struct OfAngle {
  Value value, lost;  // `lost`: where the divisor is 0; absent for kinds that have none
};

OfAngle of_angle(Emission& e, const Value& x, const Value& n, char kind) {
  const auto cos = [&](const Value& angle) { return e.node("Cos", {angle}); };
  const auto sin = [&](const Value& angle) { return e.node("Sin", {angle}); };
  const Value angle = arc_cosine(e, x), one = constant(e, x, 1);
  if (kind == 't') return {cos(multiply(e, n, angle)), {}};
  if (kind == 'u') return {divide(e, sin(multiply(e, plus(e, n, 1), angle)), sin(angle)), {}};
  const Value half = times(e, angle, 0.5), whole = multiply(e, plus(e, n, 0.5), angle);
  const Value s = sin(half), c = cos(half);
  if (kind == 'v') return {divide(e, cos(whole), c), equal(e, s, one)};
  return {divide(e, sin(whole), s), equal(e, c, one)};
}

Value chebyshev_first(Emission& e, const Value& x, char kind) {
  if (kind == 't') return x;
  const Value twice = add(e, x, x);
  return kind == 'u' ? twice : plus(e, twice, kind == 'v' ? -1 : 1);
}

template <char kind, bool shifted, std::int64_t most>
void chebyshev(Emission& e) {
  Value x = e.number_value("x", e.output_dtype());
  if (shifted) x = plus(e, add(e, x, x), -1);
  const Degree n = degree(e);
  if (const auto same = whole_value(n)) return e.give(filled_like(e, x, x.dtype, *same));
  const Value first = chebyshev_first(e, x, kind);
  const Value twice = kind == 'u' ? first : add(e, x, x);
  const Recurrence step = [&](const Multiple&, const Value& before, const Value& earlier) {
    return subtract(e, multiply(e, twice, before), earlier);
  };
  if (n.known && *n.known <= most) return e.give(unrolled(e, first, *n.known, step));
  const Value size = absolute(e, x), one = constant(e, x, 1), zero = constant(e, x, 0);
  const Value sign = parity(e, n.value), upper = at_end(e, n.value, kind, true);
  const Value lower = multiply(e, sign, at_end(e, n.value, kind, false));
  Value inside = less(e, size, one);
  if (!n.known) inside = logical_and(e, inside, greater(e, n.value, constant(e, x, static_cast<double>(most))));
  Value ends = equal(e, size, one);
  if (!n.known) ends = logical_and(e, ends, greater(e, n.value, constant(e, x, -1)));
  const Value steps = recurrence(e, first, n, logical_or(e, inside, ends), step);
  OfAngle angle = of_angle(e, x, n.value, kind);
  if (angle.lost) angle.value = where(e, angle.lost, kind == 'v' ? lower : shifted ? sign : upper, angle.value);
  e.give(where(e, ends, where(e, greater(e, x, zero), upper, lower), where(e, inside, angle.value, steps)));
}

// ---- Others

// Hermite's: `twice` for the physicists'. PyTorch gives NaN above a degree of its own.
template <bool twice>
void hermite(Emission& e) {
  const Value x = e.number_value("x", e.output_dtype());
  Degree n = degree(e);
  if (const auto same = whole_value(n)) return e.give(filled_like(e, x, x.dtype, *same));
  const double most = x.dtype == DType::f64 ? 512 : 128;
  if (n.known && static_cast<double>(*n.known) > most) return e.give(filled_like(e, x, x.dtype, std::nan("")));
  const Value first = twice ? add(e, x, x) : x;
  const Recurrence step = [&](const Multiple& of_k, const Value& before, const Value& earlier) {
    const Value factor = twice ? of_k(2, -2) : of_k(1, -1);
    return subtract(e, multiply(e, first, before), multiply(e, factor, earlier));
  };
  const Value high = n.known ? Value{} : greater(e, n.value, constant(e, x, most));
  const Value made = recurrence(e, first, n, high, step);
  e.give(high ? where(e, high, constant(e, x, std::nan("")), made) : made);
}

void laguerre(Emission& e) {
  const Value x = e.number_value("x", e.output_dtype());
  const Degree n = degree(e);
  if (const auto same = whole_value(n)) return e.give(filled_like(e, x, x.dtype, *same));
  const Value first = subtract(e, constant(e, x, 1), x);
  e.give(recurrence(e, first, n, {}, [&](const Multiple& of_k, const Value& before, const Value& earlier) {
    const Value sum = subtract(e, multiply(e, add(e, of_k(2, -2), first), before), multiply(e, of_k(1, -1), earlier));
    return divide(e, sum, of_k(1, 0));
  }));
}

void legendre(Emission& e) {
  const Value x = e.number_value("x", e.output_dtype());
  const Degree n = degree(e);
  if (const auto same = whole_value(n)) return e.give(filled_like(e, x, x.dtype, *same));
  e.give(recurrence(e, x, n, {}, [&](const Multiple& of_k, const Value& before, const Value& earlier) {
    const Value product = multiply(e, multiply(e, of_k(2, -1), x), before);
    return divide(e, subtract(e, product, multiply(e, of_k(1, -1), earlier)), of_k(1, 0));
  }));
}

}  // namespace

void register_polynomial(Registry& registry) {
  registry.handler("aten::special_chebyshev_polynomial_t", chebyshev<'t', false, 6>);
  registry.handler("aten::special_chebyshev_polynomial_u", chebyshev<'u', false, 8>);
  registry.handler("aten::special_chebyshev_polynomial_v", chebyshev<'v', false, 8>);
  registry.handler("aten::special_chebyshev_polynomial_w", chebyshev<'w', false, 8>);
  registry.handler("aten::special_shifted_chebyshev_polynomial_t", chebyshev<'t', true, 6>);
  registry.handler("aten::special_shifted_chebyshev_polynomial_u", chebyshev<'u', true, 6>);
  registry.handler("aten::special_shifted_chebyshev_polynomial_v", chebyshev<'v', true, 6>);
  registry.handler("aten::special_shifted_chebyshev_polynomial_w", chebyshev<'w', true, 4>);
  registry.handler("aten::special_hermite_polynomial_h", hermite<true>);
  registry.handler("aten::special_hermite_polynomial_he", hermite<false>);
  registry.handler("aten::special_laguerre_polynomial_l", laguerre);
  registry.handler("aten::special_legendre_polynomial_p", legendre);
}

}  // namespace compatcheck::handlers

// Bessel functions of real order 0 and 1 and Airy's function: rational forms below and above a bound, as PyTorch computes them.
// Source: ATen/native/Math.h, which has them from the Cephes Math Library. Modified ones: special_modified_bessel.cpp.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "handlers/families.h"
#include "handlers/series.h"

namespace compatcheck::handlers {
namespace {

constexpr double two_by_pi = 2 / std::numbers::pi;
constexpr double root_of_two_by_pi = 0.7978845608028654;

// ---- Coefficients: the highest power first. p and q: above 5; r, y: below, of the first and the second kind.

constexpr double pp0[] = {
    0.0007969367292973471, 0.08283523921074408, 1.239533716464143, 5.447250030587687, 8.74716500199817, 5.303240382353949, 1.0};
constexpr double pq0[] = {
    0.0009244088105588637, 0.08562884743544745, 1.2535274390105895, 5.470977403304171, 8.761908832370695, 5.306052882353947, 1.0};
constexpr double qp0[] = {-0.011366383889846916, -1.2825271867050931, -19.553954425773597, -93.20601521237683,
                          -177.68116798048806,   -147.07750515495118, -51.41053267665993,  -6.050143506007285};
constexpr double qq0[] = {64.3178256118178,  856.4300259769806,  3882.4018360540163, 7240.467741956525,
                          5930.727011873169, 2062.0933166032783, 242.0057402402914};
constexpr double rp0[] = {-4794432209.782018, 1956174919465.5657, -249248344360967.72, 9708622510473064.0};
constexpr double rq0[] = {499.563147152651,  173785.4016763747,  48440965.83399621,      11185553704.535683,
                          2112775201154.892, 310518229857422.56, 3.1812195594320496e+16, 1.7108629408104315e+18};
constexpr double yp0[] = {15592.436785523574, -14663929.59039716,  5435264770.518765,      -982136065717.9115,
                          87590639439536.7,   -3466283033847297.0, 4.4273326857256984e+16, -1.8495080043698668e+16};
constexpr double yq0[] = {1041.2835366425984, 626107.330137135,   268919633.39381415,    86400248710.3935,
                          20297961275010.555, 3171577528429750.5, 2.5059625617265306e+17};
constexpr double pp1[] = {
    0.0007621256162081731, 0.07313970569409176, 1.1271960812968493, 5.112079511468076, 8.424045901417724, 5.214515986823615, 1.0};
constexpr double pq1[] = {
    0.0005713231280725487, 0.06884559087544954, 1.105142326340617, 5.073863861286015, 8.399855543276042, 5.209828486823619, 1.0};
constexpr double qp1[] = {0.05108625947501766, 4.982138729512334, 75.82382841325453,  366.7796093601508,
                          710.8563049989261,   597.4896124006136, 211.68875710057213, 25.207020585802372};
constexpr double qq1[] = {74.23732770356752, 1056.4488603826283, 4986.410583376536, 9562.318924047562,
                          7997.041604473507, 2826.1927851763908, 336.0936078106983};
constexpr double rp1[] = {-899971225.7055594, 452228297998.19403, -72749424522181.83, 3682957328638529.0};
constexpr double rq1[] = {620.8364781180543, 256987.25675774884, 83514679.14319493,     22151159547.97925,
                          4749141220799.914, 784369607876235.9,  8.952223361846274e+16, 5.322786203326801e+18};
constexpr double yp1[] = {1263204747.9017804,  -647355876379.1603,    114509511541823.73,
                          -8127702555013251.0, 2.024394757135949e+17, -7.788771962659501e+17};
constexpr double yq1[] = {594.3015923461282,  235564.09294306856, 73481194.44597217,     18760131610.870617,
                          3882312774962.3857, 620557727146953.8,  6.871410873553005e+16, 3.9727060811656064e+18};
constexpr double airy_an[] = {0.346538101525629,  12.007595273964581, 76.27960536152345,  168.08922493463058,
                              159.75639135016442, 70.53609068404442,  14.026469116338967, 1.0};
constexpr double airy_ad[] = {0.5675945326387702, 14.75625625848472, 84.51389701414746,  177.31808814540045,
                              164.2346928715297,  71.47784008255756, 14.095913560783403, 1.0};
constexpr double airy_afn[] = {-0.1316963234183318,    -0.6264565444319123,    -0.6931580360369335,
                               -0.2797799815451191,    -0.04919001326095003,   -0.004062659235948854,
                               -0.0001592764962392621, -2.776491081552329e-06, -1.6778769848911465e-08};
constexpr double airy_afd[] = {13.356042070655324,   32.682503279522464,    26.736704094149957,
                               9.187074029072596,    1.4752914677166642,    0.11568717379518804,
                               0.004402916416152112, 7.547203482874142e-05, 4.5185009297058035e-07};
constexpr double airy_agn[] = {0.01973399320916857,  0.39110302961568827,   1.0657989759959559,   0.9391692298166502,
                               0.35146565610554764,  0.06338889196289255,   0.005858041130483885, 0.000282851600836737,
                               6.98793669997261e-06, 8.117892395543892e-08, 3.415517847659236e-10};
constexpr double airy_agd[] = {9.30892908077442,       19.835292871831214,  15.564662893286462,   5.476860694229755,
                               0.9542936116189619,     0.08645808263523921, 0.004126565238242226, 0.00010125908511650914,
                               1.1716673321441352e-06, 4.9183457006293e-09};

// ---- Of order 0 and 1

struct Order {
  bool odd;
  std::span<const double> pp, pq, qp, qq, rp, rq, yp, yq;
  double first_root, second_root;  // squared, of the first kind
  double phase;
};
constexpr Order order0{false, pp0, pq0, qp0, qq0, rp0, rq0, yp0, yq0, 5.783185962946785, 30.471262343662087, 0.7853981633974483};
constexpr Order order1{true, pp1, pq1, qp1, qq1, rp1, rq1, yp1, yq1, 14.681970642123893, 49.2184563216946, 2.356194490192345};

Value ratio(Emission& e, const Value& x, std::span<const double> above, std::span<const double> below) {
  return divide(e, polynomial(e, x, above), polynomial(e, x, below));
}

// The function of numbers from 5 on: a wave that shrinks.
Value above_five(Emission& e, const Value& x, const Order& order, bool second) {
  const Value part = divide(e, constant(e, x, 5), x), z = multiply(e, part, part);
  const Value p = ratio(e, z, order.pp, order.pq), q = multiply(e, part, ratio(e, z, order.qp, order.qq));
  const Value angle = plus(e, x, -order.phase);
  const Value cosine = node(e, "Cos", angle), sine = node(e, "Sin", angle);
  const Value sum =
      second ? add(e, multiply(e, p, sine), multiply(e, q, cosine)) : subtract(e, multiply(e, p, cosine), multiply(e, q, sine));
  return divide(e, times(e, sum, root_of_two_by_pi), node(e, "Sqrt", x));
}

// The function of the first kind, of numbers from 0 to 5.
Value up_to_five(Emission& e, const Value& x, const Order& order) {
  const Value z = multiply(e, x, x);
  const Value first = plus(e, z, -order.first_root), second = plus(e, z, -order.second_root);
  if (order.odd) return multiply(e, multiply(e, multiply(e, ratio(e, z, order.rp, order.rq), x), first), second);
  const Value product = multiply(e, multiply(e, first, second), polynomial(e, z, order.rp));
  const Value made = divide(e, product, polynomial(e, z, order.rq));
  return where(e, less(e, x, constant(e, x, 1e-5)), subtract(e, constant(e, x, 1), times(e, z, 0.25)), made);
}

void first_kind(Emission& e, const Order& order) {
  const Value x = single_operand(e), size = absolute(e, x);
  const Value beyond = greater(e, size, constant(e, x, 5));
  const Value made = where(e, beyond, above_five(e, size, order, false), up_to_five(e, size, order));
  e.give(order.odd ? where(e, less(e, x, constant(e, x, 0)), negated(e, made), made) : made);
}

// -infinity at 0, NaN below it.
void bessel_of_second_kind(Emission& e, const Order& order) {
  const Value x = single_operand(e), zero = constant(e, x, 0), z = multiply(e, x, x);
  Value near = ratio(e, z, order.yp, order.yq);
  Value more = multiply(e, node(e, "Log", x), up_to_five(e, x, order));
  if (order.odd) {
    near = multiply(e, near, x);
    more = subtract(e, more, divide(e, constant(e, x, 1), x));
  }
  near = add(e, near, times(e, more, two_by_pi));
  const Value outside = where(e, less(e, x, zero), constant(e, x, std::nan("")), constant(e, x, -infinity));
  const Value positive = where(e, greater(e, x, constant(e, x, 5)), above_five(e, x, order, true), near);
  e.give(where(e, logical_or(e, greater(e, x, zero), is_nan(e, x)), positive, outside));
}

void bessel_j0(Emission& e) { first_kind(e, order0); }
void bessel_j1(Emission& e) { first_kind(e, order1); }
void bessel_y0(Emission& e) { bessel_of_second_kind(e, order0); }
void bessel_y1(Emission& e) { bessel_of_second_kind(e, order1); }

// sin(x) / x, near 0 as a series; 0 at infinity.
void spherical_j0(Emission& e) {
  const Value x = single_operand(e), size = absolute(e, x), z = multiply(e, x, x);
  constexpr double series[] = {1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1};
  const Value made = where(e, less(e, size, constant(e, x, 0.5)), polynomial(e, z, series), divide(e, node(e, "Sin", x), x));
  e.give(where(e, equal(e, size, constant(e, x, infinity)), constant(e, x, 0), made));
}

// ---- Airy's function

// 1 + z/(2·3) + z²/(2·3·5·6) + …, and with `shift` 1 the other solution divided by x. PyTorch stops where a term no longer
// counts.
Value airy_series(Emission& e, const Value& z, int shift) {
  constexpr int terms = 17;
  Doubles coefficients{1};
  for (int k = 1; k < terms; ++k) coefficients.push_back(coefficients.back() / ((3.0 * k + shift - 1) * (3.0 * k + shift)));
  std::ranges::reverse(coefficients);
  return polynomial(e, z, coefficients);
}

// The exponent of the decay, and the angle of the waves: 2/3 · |x|^1.5.
Value airy_phase(Emission& e, const Value& size) {
  return divide(e, multiply(e, times(e, size, 2), node(e, "Sqrt", size)), constant(e, size, 3));
}

Value airy_wave(Emission& e, const Value& size) {
  const Value phase = airy_phase(e, size), z = node(e, "Reciprocal", phase), square = multiply(e, z, z);
  const Value angle = plus(e, phase, std::numbers::pi / 4);
  const Value f = plus(e, multiply(e, square, ratio(e, square, airy_afn, airy_afd)), 1);
  const Value g = multiply(e, z, ratio(e, square, airy_agn, airy_agd));
  const Value sum = subtract(e, multiply(e, node(e, "Sin", angle), f), multiply(e, node(e, "Cos", angle), g));
  return divide(e, times(e, sum, 0.5641895835477563), node(e, "Sqrt", node(e, "Sqrt", size)));
}

Value airy_decay(Emission& e, const Value& x) {
  const Value phase = airy_phase(e, x);
  const Value divisor = times(e, multiply(e, node(e, "Sqrt", node(e, "Sqrt", x)), node(e, "Exp", phase)), 2);
  return divide(e, times(e, ratio(e, node(e, "Reciprocal", phase), airy_an, airy_ad), 0.5641895835477563), divisor);
}

void airy(Emission& e) {
  const Value x = single_operand(e), size = absolute(e, x), z = multiply(e, multiply(e, x, x), x);
  const auto above = [&](double bound) { return greater(e, x, constant(e, x, bound)); };
  const Value f = times(e, airy_series(e, z, 0), 0.355028053887817239260);
  const Value g = times(e, multiply(e, x, airy_series(e, z, 1)), 0.258819403792806798405);
  Value made = where(e, less(e, x, constant(e, x, -2.09)), airy_wave(e, size), subtract(e, f, g));
  made = where(e, less(e, x, constant(e, x, 2.09)), made, where(e, is_nan(e, x), x, airy_decay(e, x)));
  made = where(e, above(103.892), constant(e, x, 0), made);
  e.give(where(e, equal(e, size, constant(e, x, infinity)), constant(e, x, std::nan("")), made));
}

}  // namespace

void register_special_bessel(Registry& registry) {
  registry.handler("aten::special_bessel_j0", bessel_j0);
  registry.handler("aten::special_bessel_j1", bessel_j1);
  registry.handler("aten::special_bessel_y0", bessel_y0);
  registry.handler("aten::special_bessel_y1", bessel_y1);
  registry.handler("aten::special_spherical_bessel_j0", spherical_j0);
  registry.handler("aten::special_airy_ai", airy);
}

}  // namespace compatcheck::handlers

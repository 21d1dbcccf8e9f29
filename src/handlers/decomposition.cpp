// Cholesky's and QR decompositions with LAPACK's signs, and exponentials of matrices: in double precision.
#include <numbers>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/loop.h"
#include "handlers/matrices.h"

namespace compatcheck::handlers {
namespace {

Matrices argument(Emission& e) {
  const char* name = e.call.has("A") ? "A" : e.call.has("self") ? "self" : "input";
  return matrices(e, name, wider(e.output_dtype()));
}

// ---- Cholesky's

// Column by column; of both triangles the one that the call names is read. `info` is the order of the first minor that isn't
// positive, or 0.
void cholesky(Emission& e) {
  const Matrices a = argument(e);
  const bool upper = e.boolean("upper");
  const Value other = flipped(e, a, a.value);
  const Value outside = upper ? greater(e, a.rows, a.columns) : less(e, a.rows, a.columns);
  const Value no_info = e.cast(zeros(e, a, Keep::none), DType::i64), zero = constant(e, a.value, 0);
  const Values states{where(e, outside, other, a.value), no_info};
  const Values made = repeat(e, steps(e, a, a.row_count), states, [&](const Value& iteration, const Values& now) -> Values {
    const Value k = place_of_iteration(e, iteration), side = column(e, a.with(now[0]), k),
                pivot = e.build.gather(side, k, a.row_axis());
    const Value positive = greater(e, pivot, zero);
    const Value found = divide(e, side, e.node("Sqrt", {where(e, positive, pivot, constant(e, pivot, 1))}));
    const Value rest = subtract(e, now[0], multiply(e, found, flipped(e, a, found)));
    const Value fails = logical_and(e, logical_not(e, positive), equal(e, now[1], e.build.integer(0)));
    return {where(e, greater(e, a.columns, k), rest, where(e, equal(e, a.columns, k), found, now[0])),
            where(e, fails, add(e, k, e.build.integer(1)), now[1])};
  });
  const Value lower = lower_part(e, a.with(made[0]));
  e.give(0, upper ? flipped(e, a, lower) : lower);
  if (e.call.node().schema()->returns.size() > 1) e.give(1, e.build.squeeze(made[1], {a.row_axis(), a.column_axis()}));
}

// ---- Reflections: I - tau · v · vᵀ, where v has 0 above a place and 1 in it

// X · H
Value reflected_columns(Emission& e, const Matrices& x, const Value& v, const Value& tau) {
  return subtract(e, x.value, multiply(e, multiply(e, e.node("MatMul", {x.value, v}), tau), flipped(e, x, v)));
}

struct Reflector {
  Value v, tau, beta;  // [.., m, 1], [.., 1, 1]; beta takes the place of the first element
};

// LAPACK's, which makes a column 0 below a place: the first element changes its sign.
Reflector reflector(Emission& e, const Matrices& a, const Value& k) {
  const Value side = column(e, a, k), zero = constant(e, side, 0), one = constant(e, side, 1);
  const Value alpha = e.build.gather(side, k, a.row_axis());
  const Value tail = where(e, greater(e, a.rows, k), side, zero);
  const Value squares = e.node("ReduceSum", {multiply(e, tail, tail)}, {{"axes", Ints{a.row_axis()}}, {"keepdims", 1}});
  const Value none = equal(e, squares, zero);
  const Value norm = e.node("Sqrt", {add(e, multiply(e, alpha, alpha), squares)});
  const Value beta = where(e, less(e, alpha, zero), norm, negated(e, norm));
  const Value divisor = where(e, none, one, subtract(e, alpha, beta));
  const Value tau = where(e, none, zero, divide(e, subtract(e, beta, alpha), where(e, none, one, beta)));
  return {where(e, equal(e, a.rows, k), one, divide(e, tail, divisor)), tau, where(e, none, alpha, beta)};
}

struct Reflected {
  Matrices packed;  // R, and below it the vectors
  Value tau;        // [.., steps, 1]
  Value q;          // [.., m, m]
};

Reflected reflect(Emission& e, const Matrices& a) {
  const bool wide = a.is_wide();
  const Value slots = wide ? a.rows : e.build.reshape(a.columns, {-1, 1});
  Value tau = zeros(e, a, wide ? Keep::rows : Keep::columns);
  if (!wide) tau = flipped(e, a, tau);
  const Values states{a.value, tau, identity(e, a)};
  const Values made = repeat(e, steps(e, a, a.fewer()), states, [&](const Value& iteration, const Values& now) -> Values {
    const Value k = place_of_iteration(e, iteration);
    const Reflector found = reflector(e, a.with(now[0]), k);
    const Value product = e.node("MatMul", {flipped(e, a, found.v), now[0]});
    const Value rest = subtract(e, now[0], multiply(e, multiply(e, found.v, found.tau), product));
    const Value kept = where(e, less(e, a.rows, k), column(e, a.with(now[0]), k), found.v);
    const Value side = where(e, equal(e, a.rows, k), found.beta, kept);
    return {where(e, greater(e, a.columns, k), rest, where(e, equal(e, a.columns, k), side, now[0])),
            where(e, equal(e, slots, k), found.tau, now[1]), reflected_columns(e, a.with(now[2]), found.v, found.tau)};
  });
  return {a.with(made[0]), made[1], made[2]};
}

void qr(Emission& e) {
  const Matrices a = argument(e);
  std::string mode = "reduced";
  if (e.call.has("mode")) mode = e.string("mode");
  if (e.call.has("some") && !e.boolean("some")) mode = "complete";
  const Reflected found = reflect(e, a);
  const bool complete = mode == "complete";
  if (mode == "r")
    e.give(0, e.build.constant(onnx::make_tensor(e.output_dtype(), {0}, Doubles{})));
  else
    e.give(0, complete ? found.q : head(e, found.q, a.column_axis(), a.row_count, a.fewer()));
  const Value r = upper_part(e, found.packed);
  e.give(1, complete ? r : head(e, r, a.row_axis(), a.row_count, a.fewer()));
}

void geqrf(Emission& e) {
  const Reflected found = reflect(e, argument(e));
  e.give(0, found.packed.value);
  e.give(1, e.build.squeeze(found.tau, {found.packed.column_axis()}));
}

// Q of the vectors below the diagonal of `a`: as many reflections as tau has, [.., m, m].
Value product_of_reflections(Emission& e, const Matrices& a, const char* tau) {
  const std::int64_t rank = e.rank(tau);
  const Value factors = e.build.unsqueeze(e.tensor(tau, a.value.dtype), {rank});
  const Value count = e.build.squeeze(e.size_of(tau, rank - 1), {0});
  return repeat(e, count, {identity(e, a)},
                [&](const Value& iteration, const Values& now) -> Values {
                  const Value k = place_of_iteration(e, iteration), side = column(e, a, k), zero = constant(e, side, 0);
                  const Value below = where(e, greater(e, a.rows, k), side, zero);
                  const Value v = where(e, equal(e, a.rows, k), constant(e, side, 1), below);
                  return {reflected_columns(e, a.with(now[0]), v, e.build.gather(factors, k, a.row_axis()))};
                })
      .front();
}

void householder_product(Emission& e) {
  const Matrices a = argument(e);
  const Value q = product_of_reflections(e, a, e.call.has("tau") ? "tau" : "input2");
  e.give(head(e, q, a.column_axis(), a.row_count, a.column_count));
}

void ormqr(Emission& e) {
  const Matrices a = matrices(e, "self", wider(e.output_dtype()));
  const Value c = e.tensor("input3", a.value.dtype);
  Value q = product_of_reflections(e, a, "input2");
  if (e.boolean("transpose")) q = flipped(e, a, q);
  e.give(e.boolean("left") ? e.node("MatMul", {q, c}) : e.node("MatMul", {c, q}));
}

// ---- Exponentials

// Taylor's polynomial of the matrix halved until its norm is 1 at most, squared as often.
void matrix_exponential(Emission& e) {
  constexpr int degree = 18;
  constexpr double most = 2000;
  const Matrices a = matrices(e, "self", DType::f64);
  const auto count_of = [&](double value) { return constant(e, a.value, value); };
  const Value squares =
      e.node("ReduceSum", {multiply(e, a.value, a.value)}, {{"axes", Ints{a.row_axis(), a.column_axis()}}, {"keepdims", 1}});
  const Value logarithm = multiply(e, e.node("Log", {squares}), count_of(0.5 / std::numbers::ln2));
  const Value halvings = e.node("Ceil", {minimum(e, maximum(e, logarithm, count_of(0)), count_of(most))});
  const Value scaled = multiply(e, a.value, e.node("Pow", {count_of(2), negated(e, halvings)})), one = identity(e, a);
  Value power = scaled, sum = add(e, one, scaled);
  double factor = 1;
  for (int k = 2; k <= degree; ++k) {
    power = e.node("MatMul", {power, scaled});
    factor /= k;
    sum = add(e, sum, multiply(e, power, count_of(factor)));
  }
  const Values made = while_any(
      e, {sum}, [&](const Value& iteration, const Values&) { return less(e, e.cast(iteration, halvings.dtype), halvings); },
      [&](const Value& iteration, const Values& now) -> Values {
        const Value more = less(e, e.cast(iteration, halvings.dtype), halvings);
        return {where(e, more, e.node("MatMul", {now[0], now[0]}), now[0])};
      });
  e.give(made.front());
}

}  // namespace

void register_decomposition(Registry& registry) {
  for (const char* op : {"aten::linalg_cholesky", "aten::linalg_cholesky_ex", "aten::cholesky"}) registry.handler(op, cholesky);
  for (const char* op : {"aten::linalg_qr", "aten::qr"}) registry.handler(op, qr);
  registry.handler("aten::geqrf", geqrf);
  for (const char* op : {"aten::linalg_householder_product", "aten::orgqr"}) registry.handler(op, householder_product);
  registry.handler("aten::ormqr", ormqr);
  registry.handler("aten::linalg_matrix_exp", matrix_exponential);
}

}  // namespace compatcheck::handlers

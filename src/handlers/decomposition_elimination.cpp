// LU decompositions with LAPACK's pivots, and solutions from them. Decompositions are computed in the dtype of the matrices,
// in which LAPACK chooses pivots; solutions in double precision.
#include <algorithm>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/loop.h"
#include "handlers/matrices.h"

namespace compatcheck::handlers {
namespace {

// The row of the greatest element in a column, from a place on.
Value pivot_place(Emission& e, const Matrices& a, const Value& k) {
  const Value column_k = column(e, a, k);
  const Value open = where(e, less(e, a.rows, k), constant(e, a.value, -1), absolute(e, column_k));
  return e.node("ArgMax", {open}, {{"axis", a.row_axis()}, {"keepdims", 1}});
}

struct Swap {
  Value first, second;  // masks of rows
};

Value swapped(Emission& e, const Matrices& x, const Swap& rows, const Value& row_first, const Value& row_second) {
  return where(e, rows.first, row_second, where(e, rows.second, row_first, x.value));
}

Value swapped(Emission& e, const Matrices& x, const Value& k, const Value& other) {
  const Swap rows{equal(e, x.rows, k), equal(e, x.rows, other)};
  return swapped(e, x, rows, row(e, x, k), row_where(e, x, rows.second));
}

// The number of the first step that met 0, or 0; as a matrix of one element.
Value first_zero(Emission& e, const Value& before, const Value& pivot, const Value& k) {
  const Value meets = logical_and(e, equal(e, pivot, constant(e, pivot, 0)), equal(e, before, e.build.integer(0)));
  return where(e, meets, add(e, k, e.build.integer(1)), before);
}

// ---- Decompositions

struct Factors {
  Matrices lu;
  Value permuted;  // the identity with its rows in their new order
  Value pivots;    // [.., steps, 1], from 1 on
  Value info;      // [.., 1, 1]
};

Factors decompose(Emission& e, const Matrices& a) {
  const bool wide = a.is_wide();
  const Value slots = wide ? a.rows : e.build.reshape(a.columns, {-1, 1});
  Value pivots = zeros(e, a, wide ? Keep::rows : Keep::columns);
  if (!wide) pivots = flipped(e, a, pivots);
  const Values states{a.value, identity(e, a), e.cast(pivots, DType::i64), e.cast(zeros(e, a, Keep::none), DType::i64)};
  const Values made = repeat(e, steps(e, a, a.fewer()), states, [&](const Value& iteration, const Values& now) -> Values {
    const Value k = place_of_iteration(e, iteration), from = pivot_place(e, a.with(now[0]), k);
    const Matrices moved = a.with(swapped(e, a.with(now[0]), k, from));
    const Value top = row(e, moved, k), pivot = column(e, a.with(top), k), side = column(e, moved, k);
    const Value divisor = where(e, equal(e, pivot, constant(e, pivot, 0)), constant(e, pivot, 1), pivot);
    const Value below = greater(e, a.rows, k), factors = divide(e, side, divisor);
    const Value rest = where(e, greater(e, a.columns, k), subtract(e, moved.value, multiply(e, factors, top)),
                             where(e, equal(e, a.columns, k), factors, moved.value));
    return {where(e, below, rest, moved.value), swapped(e, a.with(now[1]), k, from),
            where(e, equal(e, slots, k), add(e, from, e.build.integer(1)), now[2]), first_zero(e, now[3], pivot, k)};
  });
  return {a.with(made[0]), made[1], made[2], made[3]};
}

void give_lower(Emission& e, std::size_t output, const Matrices& lu) {
  const Value ones = e.cast(equal(e, lu.rows, lu.columns), lu.value.dtype);
  const Value made = where(e, greater(e, lu.rows, lu.columns), lu.value, ones);
  e.give(output, head(e, made, lu.column_axis(), lu.column_count, lu.fewer()));
}

void give_upper(Emission& e, std::size_t output, const Matrices& lu) {
  e.give(output, head(e, upper_part(e, lu), lu.row_axis(), lu.row_count, lu.fewer()));
}

void linalg_lu(Emission& e) {
  const Factors found = decompose(e, matrices(e, "A", e.output_dtype()));
  e.give(0, flipped(e, found.lu, found.permuted));
  give_lower(e, 1, found.lu);
  give_upper(e, 2, found.lu);
}

void lu_factor(Emission& e) {
  const Factors found = decompose(e, matrices(e, e.call.has("A") ? "A" : "self", e.output_dtype()));
  const Matrices& lu = found.lu;
  e.give(0, lu.value);
  e.give(1, e.build.squeeze(found.pivots, {lu.column_axis()}));
  if (e.call.node().schema()->returns.size() > 2) e.give(2, e.build.squeeze(found.info, {lu.row_axis(), lu.column_axis()}));
}

// Rows in the order in which pivots, [.., steps, 1], put them; or back.
Value permuted(Emission& e, const Matrices& x, const Value& pivots, const Value& count, bool back) {
  return repeat(e, count, {x.value},
                [&](const Value& iteration, const Values& now) -> Values {
                  const Value last = subtract(e, count, e.build.integer(1));
                  const Value k = place_of_iteration(e, back ? subtract(e, last, iteration) : iteration);
                  const Value other = subtract(e, e.build.gather(pivots, k, x.row_axis()), e.build.integer(1));
                  return {swapped(e, x.with(now[0]), k, other)};
                })
      .front();
}

Value pivots_of(Emission& e, const char* name, std::int64_t rank) {
  const Value pivots = e.build.unsqueeze(e.tensor(name, DType::i64), {e.rank(name)});
  return rank > e.rank(name) + 1 ? e.build.unsqueeze(pivots, all_axes(rank - e.rank(name) - 1)) : pivots;
}

void lu_unpack(Emission& e) {
  const DType dtype = e.output_dtype();
  const Matrices lu = matrices(e, "LU_data", dtype);
  const Value nothing = e.build.constant(onnx::make_tensor(dtype, {0}, Doubles{}));
  if (e.boolean("unpack_data")) {
    give_lower(e, 1, lu);
    give_upper(e, 2, lu);
  } else {
    e.give(1, nothing);
    e.give(2, nothing);
  }
  if (!e.boolean("unpack_pivots")) return e.give(0, nothing);
  const Value order = permuted(e, lu.with(identity(e, lu)), pivots_of(e, "LU_pivots", lu.rank), steps(e, lu, lu.fewer()), false);
  e.give(0, flipped(e, lu, order));
}

// ---- Solutions

}  // namespace

// Gauss's and Jordan's.
Solution eliminate(Emission& e, const Matrices& a, const Matrices& b) {
  const Value start = add(e, b.value, zeros(e, a, Keep::rows));
  const Values states{a.value, start, e.cast(zeros(e, a, Keep::none), DType::i64)};
  const Values made = repeat(e, steps(e, a, a.row_count), states, [&](const Value& iteration, const Values& now) -> Values {
    const Value k = place_of_iteration(e, iteration), from = pivot_place(e, a.with(now[0]), k), here = equal(e, a.rows, k);
    const Matrices moved = a.with(swapped(e, a.with(now[0]), k, from)), right = b.with(swapped(e, b.with(now[1]), k, from));
    const Value top = row(e, moved, k), pivot = column(e, a.with(top), k), factors = column(e, moved, k);
    const Value unit = divide(e, top, pivot), solved = divide(e, row(e, right, k), pivot);
    return {where(e, here, unit, subtract(e, moved.value, multiply(e, factors, unit))),
            where(e, here, solved, subtract(e, right.value, multiply(e, factors, solved))), first_zero(e, now[2], pivot, k)};
  });
  return {made[1], made[2]};
}

Solution inverse_of(Emission& e, const Matrices& a) { return eliminate(e, a, a.with(identity(e, a))); }

namespace {

// The last output of the functions that have one.
void give_info(Emission& e, const Matrices& a, const Value& info) {
  const std::size_t last = e.call.node().schema()->returns.size() - 1;
  if (last > 0) e.give(last, e.build.squeeze(info, {a.row_axis(), a.column_axis()}));
}

void matrix_inverse(Emission& e) {
  const Matrices a = matrices(e, e.call.has("A") ? "A" : "self", wider(e.output_dtype()));
  const Solution found = inverse_of(e, a);
  e.give(0, found.value);
  give_info(e, a, found.info);
}

void solve(Emission& e) {
  const DType dtype = wider(e.output_dtype());
  const std::int64_t rank_a = e.rank("A"), rank_b = e.rank("B");
  const bool vector = rank_b == 1 || (rank_b == rank_a - 1 && e.output_rank() == rank_b);
  const std::int64_t rank = std::max(rank_a, vector ? rank_b + 1 : rank_b);
  Matrices a = matrices(e, "A", dtype, rank), b;
  if (vector) {
    b = a.with(e.build.unsqueeze(e.tensor("B", dtype), {rank_b}));
    if (rank > rank_b + 1) b.value = e.build.unsqueeze(b.value, all_axes(rank - rank_b - 1));
  } else {
    b = matrices(e, "B", dtype, rank);
  }
  const bool left = e.boolean("left") || vector;
  if (!left) a = transposed(e, a), b = transposed(e, b);
  if (e.call.node().schema()->returns.size() == 4 && (e.output_used(1) || e.output_used(2)))
    throw Refusal{"whether PyTorch factors A or its transpose depends on how A lies in memory",
                  "call torch.linalg.lu_factor and torch.linalg.lu_solve"};
  const Solution found = eliminate(e, a, b);
  const Value made = left ? found.value : flipped(e, b, found.value);
  e.give(0, vector ? e.build.squeeze(made, {rank - 1}) : made);
  give_info(e, a, found.info);
}

// Numbers of the dimensions in [from, to).
std::int64_t number_of_elements(const Shape& shape, std::size_t from, std::size_t to) {
  std::int64_t product = 1;
  for (std::size_t i = from; i < to; ++i) {
    if (!shape.at(i).is_number())
      throw Refusal{"a tensor that stands for a matrix needs known sizes", "state the sizes by --input"};
    product *= *shape[i].number();
  }
  return product;
}

Value in_shape(Emission& e, const Value& value, const Shape& shape) {
  Ints sizes;
  for (std::size_t i = 0; i < shape.size(); ++i) sizes.push_back(number_of_elements(shape, i, i + 1));
  return e.build.reshape(value, sizes);
}

// The dimensions before `ind` count rows, the others columns.
void tensorinv(Emission& e) {
  const Shape& shape = e.shape("self");
  const auto ind = static_cast<std::size_t>(e.integer("ind"));
  if (ind < 1 || ind >= shape.size()) throw Refusal{"both sides of the matrix need dimensions"};
  const std::int64_t rows = number_of_elements(shape, 0, ind), columns = number_of_elements(shape, ind, shape.size());
  if (rows != columns) throw Refusal{"the matrix isn't square"};
  const Matrices a = matrices(e, e.tensor("self", wider(e.output_dtype())), rows, columns);
  e.give(in_shape(e, inverse_of(e, a).value, e.output_shape()));
}

void tensorsolve(Emission& e) {
  const DType dtype = wider(e.output_dtype());
  Value a = e.tensor("self", dtype);
  if (e.given("dims")) {
    Ints moved = e.axes("dims"), order;
    for (std::int64_t axis = 0; axis < e.rank("self"); ++axis)
      if (std::ranges::find(moved, axis) == moved.end()) order.push_back(axis);
    for (const std::int64_t dim : e.ints("dims")) order.push_back(e.wrap(dim, e.rank("self")));
    a = e.build.transpose(a, order);
  }
  const Shape &other = e.shape("other"), &found = e.output_shape();
  const std::int64_t rows = number_of_elements(other, 0, other.size()), columns = number_of_elements(found, 0, found.size());
  if (rows != columns) throw Refusal{"the matrix isn't square"};
  const Matrices b = matrices(e, e.tensor("other", dtype), rows, 1);
  e.give(in_shape(e, eliminate(e, matrices(e, a, rows, columns), b).value, found));
}

// ---- Triangles

struct Triangle {
  bool upper, unit;
};

// X of A · X = B, reading one triangle of A.
Value substitute(Emission& e, const Matrices& a, const Matrices& b, const Triangle& triangle) {
  const Value count = steps(e, a, a.row_count), last = subtract(e, count, e.build.integer(1));
  return repeat(e, count, {add(e, b.value, zeros(e, a, Keep::rows))},
                [&](const Value& iteration, const Values& now) -> Values {
                  const Value k = place_of_iteration(e, triangle.upper ? subtract(e, last, iteration) : iteration);
                  const Value side = column(e, a, k);
                  Value solved = row(e, b.with(now[0]), k);
                  if (!triangle.unit) solved = divide(e, solved, e.build.gather(side, k, a.row_axis()));
                  const Value left = triangle.upper ? less(e, a.rows, k) : greater(e, a.rows, k);
                  const Value rest = where(e, left, subtract(e, now[0], multiply(e, side, solved)), now[0]);
                  return {where(e, equal(e, a.rows, k), solved, rest)};
                })
      .front();
}

// X of op(A) · X = B for A transposed or not.
Value substitute_of(Emission& e, const Matrices& a, const Matrices& b, Triangle triangle, bool transpose) {
  if (!transpose) return substitute(e, a, b, triangle);
  triangle.upper = !triangle.upper;
  return substitute(e, transposed(e, a), b, triangle);
}

void solve_triangular(Emission& e) {
  const DType dtype = wider(e.output_dtype());
  const std::int64_t rank = e.output_rank();
  const bool left = e.boolean("left");
  const Matrices a = matrices(e, "self", dtype, rank), b = matrices(e, "B", dtype, rank);
  const Value made = substitute_of(e, a, left ? b : transposed(e, b), {e.boolean("upper"), e.boolean("unitriangular")}, !left);
  e.give(left ? made : flipped(e, b, made));
}

void triangular_solve(Emission& e) {
  const DType dtype = e.output_dtype();
  const std::int64_t rank = e.output_rank();
  const Matrices a = matrices(e, "A", wider(dtype), rank), b = matrices(e, "self", wider(dtype), rank);
  e.give(0, substitute_of(e, a, b, {e.boolean("upper"), e.boolean("unitriangular")}, e.boolean("transpose")));
  if (e.output_used(1)) {
    const Matrices same = matrices(e, "A", dtype, rank);
    e.give(1, add(e, same.value, zeros(e, matrices(e, "self", dtype, rank), Keep::none)));
  }
}

// Solves by the factors L and its transpose, or U: two substitutions.
Value solve_by_cholesky(Emission& e, const Matrices& factor, const Matrices& b, bool upper) {
  const Value half = substitute_of(e, factor, b, {upper, false}, upper);
  return substitute_of(e, factor, b.with(half), {upper, false}, !upper);
}

void cholesky_solve(Emission& e) {
  const DType dtype = wider(e.output_dtype());
  const std::int64_t rank = e.output_rank();
  e.give(solve_by_cholesky(e, matrices(e, "input2", dtype, rank), matrices(e, "self", dtype, rank), e.boolean("upper")));
}

void cholesky_inverse(Emission& e) {
  const Matrices factor = matrices(e, "self", wider(e.output_dtype()));
  e.give(solve_by_cholesky(e, factor, factor.with(identity(e, factor)), e.boolean("upper")));
}

// A is P · L · U; with `adjoint`, its transpose.
Value solve_by_lu(Emission& e, const Matrices& lu, const Value& pivots, const Matrices& b, bool adjoint) {
  const Value count = steps(e, lu, lu.row_count);
  const Matrices start = b.with(add(e, b.value, zeros(e, lu, Keep::rows)));
  if (!adjoint) {
    const Value half = substitute(e, lu, b.with(permuted(e, start, pivots, count, false)), {false, true});
    return substitute(e, lu, b.with(half), {true, false});
  }
  const Value half = substitute_of(e, lu, start, {true, false}, true);
  const Value whole = substitute_of(e, lu, b.with(half), {false, true}, true);
  return permuted(e, b.with(whole), pivots, count, true);
}

void lu_solve(Emission& e) {
  const DType dtype = wider(e.output_dtype());
  const std::int64_t rank = e.output_rank();
  const bool linalg = e.call.has("LU");
  const Matrices lu = matrices(e, linalg ? "LU" : "LU_data", dtype, rank);
  Matrices b = matrices(e, linalg ? "B" : "self", dtype, rank);
  const Value pivots = pivots_of(e, linalg ? "pivots" : "LU_pivots", rank);
  const bool left = !linalg || e.boolean("left");
  if (!left) b = transposed(e, b);
  const Value made = solve_by_lu(e, lu, pivots, b, e.boolean("adjoint") == left);
  e.give(left ? made : flipped(e, b, made));
}

}  // namespace

void register_decomposition_elimination(Registry& registry) {
  registry.handler("aten::linalg_lu", linalg_lu);
  for (const char* op : {"aten::linalg_lu_factor", "aten::linalg_lu_factor_ex", "aten::_lu_with_info"})
    registry.handler(op, lu_factor);
  registry.handler("aten::lu_unpack", lu_unpack);
  for (const char* op : {"aten::linalg_inv", "aten::linalg_inv_ex", "aten::inverse"}) registry.handler(op, matrix_inverse);
  for (const char* op : {"aten::linalg_solve", "aten::linalg_solve_ex", "aten::_linalg_solve_ex"}) registry.handler(op, solve);
  registry.handler("aten::linalg_tensorinv", tensorinv);
  registry.handler("aten::linalg_tensorsolve", tensorsolve);
  registry.handler("aten::linalg_solve_triangular", solve_triangular);
  registry.handler("aten::triangular_solve", triangular_solve);
  registry.handler("aten::cholesky_solve", cholesky_solve);
  registry.handler("aten::cholesky_inverse", cholesky_inverse);
  for (const char* op : {"aten::linalg_lu_solve", "aten::lu_solve"}) registry.handler(op, lu_solve);
}

}  // namespace compatcheck::handlers

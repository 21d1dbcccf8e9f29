// Decompositions and solvers, on matrices with any batch in front: facts.
#include "symbolic/families.h"
#include "symbolic/matrix.h"
#include "symbolic/reduction.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Facts like_matrix(const Call&, const Matrix& a) { return {a.with({a.rows, a.columns})}; }
Facts like_matrix_and_info(const Call&, const Matrix& a) { return {a.with({a.rows, a.columns}), a.with(DType::i32, {})}; }
Facts eigen_complex(const Call&, const Matrix& a) {
  return {a.with(a.complex(), {a.rows}), a.with(a.complex(), {a.rows, a.rows})};
}
Facts eigen_real(const Call&, const Matrix& a) { return {a.with(a.real(), {a.rows}), a.with({a.rows, a.rows})}; }
Facts singular_values(const Call&, const Matrix& a) { return {a.with(a.real(), {a.smaller()})}; }
Facts transposed_matrix(const Call&, const Matrix& a) { return {a.with({a.columns, a.rows})}; }
Facts matrix_rank(const Call&, const Matrix& a) { return {a.with(DType::i64, {})}; }
Facts factor(const Call&, const Matrix& a) {
  return {a.with({a.rows, a.columns}), a.with(DType::i32, {a.smaller()}), a.with(DType::i32, {})};
}

Facts lu(const Call& call, const Matrix& a) {
  const auto pivot = call.boolean("pivot");
  return {!pivot   ? tensor_fact(a.dtype, std::nullopt)
          : *pivot ? a.with({a.rows, a.rows})
                   : tensor_fact(a.dtype, Shape{0}),
          a.with({a.rows, a.smaller()}), a.with({a.smaller(), a.columns})};
}

Facts qr(const Call& call, const Matrix& a) {
  std::optional<std::string> mode = call.string("mode");
  if (call.has("some")) {
    const auto reduced = call.boolean("some");
    if (reduced) mode = *reduced ? "reduced" : "complete";
  }
  if (!mode) return {};
  if (*mode == "complete") return {a.with({a.rows, a.rows}), a.with({a.rows, a.columns})};
  return {*mode == "r" ? tensor_fact(a.dtype, Shape{0}) : a.with({a.rows, a.smaller()}), a.with({a.smaller(), a.columns})};
}

Facts svd(const Call& call, const Matrix& a) {
  const bool old = call.has("some");  // torch.svd gives V, not its transpose
  auto full = call.boolean(old ? "some" : "full_matrices");
  const auto vectors = old ? call.boolean("compute_uv") : std::optional(true);
  if (!full || !vectors) return {};
  if (old) full = !*full || !*vectors;
  const Dim rows = *full ? a.rows : a.smaller(), columns = *full ? a.columns : a.smaller();
  return {a.with({a.rows, rows}), a.with(a.real(), {a.smaller()}),
          old ? a.with({a.columns, columns}) : a.with({columns, a.columns})};
}

Facts reflectors(const Call&, const Matrix& a) { return {a.with({a.rows, a.columns}), a.with({a.smaller()})}; }

// lu_unpack(LU_data, LU_pivots): P, L, U.
Facts lu_unpack(const Call& call) {
  const auto a = matrix_of(tensor_of(call, "LU_data"));
  const auto data = call.boolean("unpack_data"), pivots = call.boolean("unpack_pivots");
  if (!a || !data || !pivots) return {};
  const Fact empty = tensor_fact(a->dtype, Shape{0});
  return {*pivots ? a->with({a->rows, a->rows}) : empty, *data ? a->with({a->rows, a->smaller()}) : empty,
          *data ? a->with({a->smaller(), a->columns}) : empty};
}

// ---- Solving A·X = B

// B is a vector if it has one dimension, or one less than A with A's batch; nullopt where the sizes don't tell.
std::optional<bool> is_vector(const TensorFact& a, const TensorFact& b) {
  if (b.shape->size() == 1) return true;
  if (a.shape->size() != b.shape->size() + 1) return false;
  bool all_equal = true;
  for (std::size_t i = 0; i < b.shape->size(); ++i) {
    if (provably_different((*a.shape)[i], (*b.shape)[i])) return false;
    all_equal &= provably_equal((*a.shape)[i], (*b.shape)[i]);
  }
  return all_equal ? std::optional(true) : std::nullopt;
}

// (solution, info), or only the solution.
Facts solve_system(const Call& call) {
  const TensorFact &a = tensor_of(call, "A"), &b = tensor_of(call, "B");
  if (!a.shape || !b.shape || a.shape->size() < 2 || b.shape->empty()) return {};
  const Shape batch(a.shape->begin(), a.shape->end() - 2);
  const Fact info = tensor_fact(DType::i32, batch);
  const auto vector = is_vector(a, b);
  if (!vector) return {tensor_fact(b.dtype, std::nullopt), info};
  if (*vector) {
    Shape shape = batch;
    shape.push_back(b.shape->back());
    return {tensor_fact(b.dtype, std::move(shape)), info};
  }
  auto shape = broadcast(batch, Shape(b.shape->begin(), b.shape->end() - 2));
  shape->insert(shape->end(), b.shape->end() - 2, b.shape->end());
  return {tensor_fact(b.dtype, std::move(shape)), info};
}

// (solution, LU, pivots, info)
Facts solve_with_factors(const Call& call) {
  const Facts found = solve_system(call), factors = of_matrix<factor>(call);
  if (found.empty() || factors.empty()) return {};
  return {found.front(), factors.at(0), factors.at(1), found.at(1)};
}

// Right-hand side `b` of a factored or triangular `a`, batches broadcast.
Facts solved(const TensorFact& a, const TensorFact& b) {
  if (!a.shape || !b.shape || a.shape->size() < 2 || b.shape->size() < 2) return {};
  auto shape = broadcast(Shape(a.shape->begin(), a.shape->end() - 2), Shape(b.shape->begin(), b.shape->end() - 2));
  Shape factor = *shape;
  shape->insert(shape->end(), b.shape->end() - 2, b.shape->end());
  factor.insert(factor.end(), a.shape->end() - 2, a.shape->end());
  return {tensor_fact(b.dtype, std::move(shape)), tensor_fact(a.dtype, std::move(factor))};
}

Facts lu_solve(const Call& call) {
  return call.has("LU") ? solved(tensor_of(call, "LU"), tensor_of(call, "B")) : solved(tensor_of(call, "LU_data"), self_of(call));
}
Facts ldl_solve(const Call& call) { return solved(tensor_of(call, "LD"), tensor_of(call, "B")); }
Facts solve_triangular(const Call& call) { return solved(self_of(call), tensor_of(call, "B")); }
Facts triangular_solve(const Call& call) { return solved(tensor_of(call, "A"), self_of(call)); }
Facts cholesky_solve(const Call& call) { return solved(tensor_of(call, "input2"), self_of(call)); }
Facts ormqr(const Call& call) { return {like(tensor_of(call, "input3"))}; }

// ---- Others

Facts nuclear_norm(const Call& call) { return {tensor_fact(as_real(as_float(self_of(call).dtype)), reduced_sizes(call))}; }

Facts condition_number(const Call& call) {  // its input is a batch of matrices, its result lacks both dimensions
  const TensorFact& self = self_of(call);
  const auto dtype = as_real(as_float(self.dtype));
  if (!self.shape || self.shape->size() < 2) return {tensor_fact(dtype, std::nullopt)};
  return {tensor_fact(dtype, Shape(self.shape->begin(), self.shape->end() - 2))};
}

// The dimensions from `ind` on come first.
Facts tensorinv(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto ind = call.integer("ind");
  if (!self.shape || !ind || *ind < 0 || static_cast<std::size_t>(*ind) > self.shape->size())
    return {tensor_fact(self.dtype, std::nullopt)};
  Shape shape(self.shape->begin() + *ind, self.shape->end());
  shape.insert(shape.end(), self.shape->begin(), self.shape->begin() + *ind);
  return {tensor_fact(self.dtype, std::move(shape))};
}

// self · x = other: x has the dimensions of self that other lacks; `dims` are moved to the end first.
Facts tensorsolve(const Call& call) {
  const TensorFact &self = self_of(call), &other = tensor_of(call, "other");
  if (!self.shape || !other.shape || self.shape->empty() || other.shape->size() > self.shape->size())
    return {tensor_fact(self.dtype, std::nullopt)};
  if (call.is_none("dims"))
    return {tensor_fact(self.dtype,
                        Shape(self.shape->begin() + static_cast<std::ptrdiff_t>(other.shape->size()), self.shape->end()))};
  const auto dims = call.ints("dims");
  if (!dims) return {tensor_fact(self.dtype, std::nullopt)};
  auto moved = reduce_shape(*self.shape, dims, false);
  if (!moved) return {tensor_fact(self.dtype, std::nullopt)};
  for (const std::int64_t dim : *dims) moved->push_back((*self.shape)[*wrap_dim(dim, self.shape->size())]);
  return {tensor_fact(self.dtype, Shape(moved->begin() + static_cast<std::ptrdiff_t>(other.shape->size()), moved->end()))};
}

}  // namespace

void register_decomposition(Registry& registry) {
  for (const char* op :
       {"aten::linalg_inv", "aten::linalg_cholesky", "aten::cholesky", "aten::cholesky_inverse", "aten::linalg_matrix_exp",
        "aten::linalg_householder_product", "aten::inverse", "aten::matrix_exp", "aten::matrix_power", "aten::orgqr"})
    registry.facts(op, of_matrix<like_matrix>);
  for (const char* op : {"aten::linalg_inv_ex", "aten::linalg_cholesky_ex"}) registry.facts(op, of_matrix<like_matrix_and_info>);
  for (const char* op : {"aten::linalg_eig", "aten::linalg_eigvals"}) registry.facts(op, of_matrix<eigen_complex>);
  for (const char* op : {"aten::linalg_eigh", "aten::linalg_eigvalsh"}) registry.facts(op, of_matrix<eigen_real>);
  registry.facts("aten::linalg_svdvals", of_matrix<singular_values>);
  for (const char* op : {"aten::linalg_pinv", "aten::pinverse"}) registry.facts(op, of_matrix<transposed_matrix>);
  registry.facts("aten::linalg_matrix_rank", of_matrix<matrix_rank>);
  for (const char* op : {"aten::linalg_lu_factor", "aten::linalg_lu_factor_ex", "aten::_lu_with_info", "aten::linalg_ldl_factor",
                         "aten::linalg_ldl_factor_ex"})
    registry.facts(op, of_matrix<factor>);
  registry.facts("aten::linalg_lu", of_matrix<lu>);
  for (const char* op : {"aten::linalg_qr", "aten::qr"}) registry.facts(op, of_matrix<qr>);
  for (const char* op : {"aten::linalg_svd", "aten::svd"}) registry.facts(op, of_matrix<svd>);
  registry.facts("aten::geqrf", of_matrix<reflectors>);
  registry.facts("aten::lu_unpack", lu_unpack);
  for (const char* op : {"aten::linalg_solve", "aten::linalg_solve_ex"}) registry.facts(op, solve_system);
  registry.facts("aten::_linalg_solve_ex", solve_with_factors);
  for (const char* op : {"aten::lu_solve", "aten::linalg_lu_solve"}) registry.facts(op, lu_solve);
  registry.facts("aten::linalg_ldl_solve", ldl_solve);
  registry.facts("aten::linalg_solve_triangular", solve_triangular);
  registry.facts("aten::triangular_solve", triangular_solve);
  registry.facts("aten::cholesky_solve", cholesky_solve);
  registry.facts("aten::ormqr", ormqr);
  registry.facts("aten::nuclear_norm", nuclear_norm);
  registry.facts("aten::linalg_cond", condition_number);
  registry.facts("aten::linalg_tensorinv", tensorinv);
  registry.facts("aten::linalg_tensorsolve", tensorsolve);
}

}  // namespace compatcheck::symbolic

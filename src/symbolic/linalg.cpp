// Determinants, products of vectors, distances, powers as columns: facts and conditions.
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/matrix.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

Facts determinant(const Call&, const Matrix& a) { return {a.with({})}; }
Facts sign_and_logarithm(const Call&, const Matrix& a) { return {a.with({}), a.with(a.real(), {})}; }

Facts cross(const Call& call) {
  Promotion promotion;
  promotion.add(call.fact("self"));
  promotion.add(call.fact("other"));
  const auto &self = self_of(call).shape, &other = tensor_of(call, "other").shape;
  const Fact product = tensor_fact(promotion.result(), broadcast(self, other));
  Demands demands;
  if (self && self->empty()) demands.broken("self has no dimensions");
  if (self) demands.rank(call, "other", self->size(), self->size());
  if (const auto dim = call.is_none("dim") ? std::nullopt : dim_index(call, "dim", *product.tensor()))
    demands.equal(size_at(*product.tensor(), *dim), 3, "the number of coordinates");
  demands.hold();
  return {product};
}

// Rows of x1 against rows of x2, batches broadcast.
Facts cdist(const Call& call) {
  const TensorFact &a = tensor_of(call, "x1"), &b = tensor_of(call, "x2");
  if (!a.shape || !b.shape || a.shape->size() < 2 || b.shape->size() < 2) return {tensor_fact(a.dtype, std::nullopt)};
  demand_equal(b.shape->back(), a.shape->back(), "the last dimension of x2");
  auto shape = broadcast(Shape(a.shape->begin(), a.shape->end() - 2), Shape(b.shape->begin(), b.shape->end() - 2));
  shape->push_back((*a.shape)[a.shape->size() - 2]);
  shape->push_back((*b.shape)[b.shape->size() - 2]);
  return {tensor_fact(a.dtype, std::move(shape))};
}

Facts pdist(const Call& call) {
  demand_floating(call, "self");
  const Dim n = size_at(self_of(call), 0);
  return {tensor_fact(call.dtype_of("self"), Shape{floor_div(n * (n - Dim(1)), 2)})};
}

Facts dist(const Call& call) {
  demand_no_bools(call, {"self", "other"});
  Promotion promotion;
  promotion.add(call.fact("self"));
  promotion.add(call.fact("other"));
  const auto dtype = promotion.result();
  if (dtype && ir::is_integral(*dtype)) throw Impossible{"there is no norm of integers"};
  return {tensor_fact(dtype, Shape{})};
}

// Powers of a vector as columns.
Facts vander(const Call& call) {
  const TensorFact& x = tensor_of(call, "x");
  const bool whole = x.dtype && !ir::is_floating(*x.dtype) && !ir::is_complex(*x.dtype);
  const auto dtype = whole ? std::optional(ir::DType::i64) : x.dtype;
  if (!x.shape) return {tensor_fact(dtype, std::nullopt)};
  Shape shape = x.shape->empty() ? Shape{1} : *x.shape;  // a number counts as one sample
  shape.push_back(call.is_none("N") ? shape.back() : call.dim("N").value_or(Dim::unknown()));
  return {tensor_fact(dtype, std::move(shape))};
}

// PyTorch computes Euclidean distances from products if there are many rows, or on request.
Verdict distances_by_product(const Call& call) {
  constexpr std::int64_t many = 25;
  const auto many_rows = [&](const char* argument) {
    const auto& shape = tensor_of(call, argument).shape;
    return shape && shape->size() >= 2 && shape->end()[-2].number().value_or(0) > many;
  };
  const auto mode = call.is_none("compute_mode") ? 0 : call.integer("compute_mode");
  const bool by_product = mode == 1 || (mode == 0 && (many_rows("x1") || many_rows("x2")));
  return {.truth = by_product ? Truth::yes : Truth::no, .message = by_product ? "" : "the distances are taken one by one"};
}

// Doubles, whose determinants are computed step by step: a row of the matrix each.
Verdict doubles_of_few_rows(const Call& call) {
  constexpr std::int64_t most = 32;
  const TensorFact& matrices = tensor_of(call, call.has("A") ? "A" : "self");
  if (matrices.dtype && *matrices.dtype != ir::DType::f64) return {.truth = Truth::no, .message = "it isn't of doubles"};
  const auto rows = matrices.shape && matrices.shape->size() >= 2 ? matrices.shape->back().number() : std::nullopt;
  const bool few = matrices.dtype && rows && *rows >= 1 && *rows <= most;
  return few ? Verdict{.truth = Truth::yes}
             : Verdict{.truth = Truth::no, .message = "the number of rows isn't known, or above 32"};
}

Verdict matrices_are_square(const Call& call) {
  Demands demands;
  const auto& shape = tensor_of(call, call.has("A") ? "A" : "self").shape;
  if (shape && shape->size() < 2) demands.broken("a matrix has at least 2 dimensions");
  if (shape && shape->size() >= 2)
    demands.equal((*shape)[shape->size() - 1], (*shape)[shape->size() - 2], "the number of columns");
  return demands.verdict();
}

}  // namespace

void register_linalg(Registry& registry) {
  for (const char* op : {"aten::linalg_det", "aten::_linalg_det", "aten::det", "aten::logdet"})
    registry.facts(op, of_matrix<determinant>);
  for (const char* op : {"aten::linalg_slogdet", "aten::_linalg_slogdet", "aten::slogdet"})
    registry.facts(op, of_matrix<sign_and_logarithm>);
  for (const char* op : {"aten::cross", "aten::linalg_cross"}) registry.facts(op, cross);
  registry.facts("aten::cdist", cdist);
  registry.facts("aten::pdist", pdist);
  registry.facts("aten::dist", dist);
  for (const char* op : {"aten::vander", "aten::linalg_vander"}) registry.facts(op, vander);
  registry.condition("distances_by_product", distances_by_product);
  registry.condition("doubles_of_few_rows", doubles_of_few_rows);
  registry.condition("matrices_are_square", matrices_are_square);
}

}  // namespace compatcheck::symbolic

// Variances and norms.
#include <algorithm>
#include <cmath>

#include "handlers/compute.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

// ---- Variance

// Subtracted from the number of elements: `correction`, or 1 for the older `unbiased`.
double correction(const Emission& e) {
  if (e.call.has("correction")) return e.number("correction", 1);
  return !e.call.has("unbiased") || e.boolean("unbiased") ? 1 : 0;
}

// The sum of squared deviations divided by the corrected number of elements. A divisor of 0 gives NaN or infinity, as in PyTorch.
Value over_count(Emission& e, const Value& sum, const Ints& axes) {
  const double less = correction(e);
  const Value count = element_count(e, "self", axes, sum.dtype);
  if (less == 0) return e.node("Div", {sum, count});
  if (const auto* known = e.constant_of(count)) {
    const double left = std::max(0.0, onnx::as_floats(*known)->front() - less);
    return e.node("Div", {sum, e.scalar(sum.dtype, left)});
  }
  const Value left = e.node("Sub", {count, e.scalar(sum.dtype, less)});
  return e.node("Div", {sum, e.node("Max", {left, e.scalar(sum.dtype, 0)})});
}

// PyTorch updates the mean beside a variance element by element (Welford): an infinity makes it NaN, unless it comes last.
Value corrected(Emission& e, const Value& x, const Value& mean, const Ints& axes, bool keep) {
  Value made = mean, last = x;
  for (const std::int64_t axis : axes) {
    const Value before = e.node("Mul", {part(e, last, axis, 0, -1), e.scalar(x.dtype, 0)});  // NaN of NaN and infinities
    made = e.node("Add", {made, reduce(e, "ReduceSum", before, axes, keep)});
    last = part(e, last, axis, -1, to_end);
  }
  return made;
}

template <bool root, bool with_mean>
void variance(Emission& e) {
  const Value x = widened(e, e.tensor("self"));
  const Ints axes = e.axes("dim");
  const bool keep = e.boolean("keepdim");
  const Value middle = mean(e, x, e.shape("self"), axes, true);
  if (e.output_used(0)) {
    const Value off = e.node("Sub", {x, middle});
    const Value spread = over_count(e, reduce(e, "ReduceSum", e.node("Mul", {off, off}), axes, keep), axes);
    e.give(0, root ? e.node("Sqrt", {spread}) : spread);
  }
  if (with_mean && e.output_used(1)) e.give(1, corrected(e, x, keep ? middle : e.build.squeeze(middle, axes), axes, keep));
}

// ---- Norms

// The norm of one element is its magnitude; a power could overflow on the way.
void norm_of(Emission& e, double p) {
  const Value self = e.tensor("self", e.output_dtype());
  const Ints axes = e.axes("dim");
  const bool keep = e.boolean("keepdim");
  if (!e.variant("magnitude"))
    return e.give(axes.empty() && p != 0 ? power_norm(e, self, p, axes, keep) : vector_norm(e, self, p, axes, keep));
  const Value magnitude = e.node("Abs", {self});
  e.give(keep || axes.empty() ? magnitude : e.build.squeeze(magnitude, axes));
}

void norm(Emission& e) { norm_of(e, e.number("p", 2)); }
void vector_norm_of(Emission& e) { norm_of(e, e.number("ord", 2)); }
void frobenius_norm(Emission& e) { norm_of(e, 2); }

// Matrix norms: the greatest or least sum of a column (order 1) or row (order infinity).
void matrix_norm(Emission& e, Ints dims, double order) {
  if (std::abs(order) != 1 && !std::isinf(order))
    throw Refusal{"this order of a matrix norm needs singular values, which ONNX doesn't have", "use ord='fro'"};
  const bool keep = e.boolean("keepdim");
  std::int64_t summed = dims[0], chosen = dims[1];
  if (std::isinf(order)) std::swap(summed, chosen);
  const Value x = e.tensor("self", e.output_dtype());
  const Value sums = reduce(e, "ReduceL1", x, {summed}, keep);
  const std::int64_t left = keep || chosen < summed ? chosen : chosen - 1;
  const Value found = extreme(e, order > 0 ? Extreme::greatest : Extreme::least, sums, {left}, keep);
  // Without rows or columns the norm is 0.
  e.give(order > 0 && minds_empty(e, e.shape("self"), {chosen}) ? e.node("Relu", {found}) : found);
}

// In the given order: rows, then columns.
Ints matrix_dims(Emission& e) {
  const std::int64_t rank = e.rank("self");
  Ints dims = e.given("dim") ? e.ints("dim") : Ints{-2, -1};
  if (rank < 2 || dims.size() != 2) throw Refusal{"a matrix norm is over two dimensions"};
  for (std::int64_t& dim : dims) dim = e.wrap(dim, rank);
  return dims;
}

void linalg_matrix_norm(Emission& e) { matrix_norm(e, matrix_dims(e), e.number("ord")); }

void named_norm(Emission& e) {
  if (e.string("ord") != "fro") throw Refusal{"the nuclear norm needs singular values, which ONNX doesn't have", "use ord='fro'"};
  e.give(vector_norm(e, e.tensor("self", e.output_dtype()), 2, matrix_dims(e), e.boolean("keepdim")));
}

void linalg_norm(Emission& e) {
  const bool matrix = e.given("dim") ? e.ints("dim").size() == 2 : e.given("ord") && e.rank("self") == 2;
  if (!e.given("ord")) return norm_of(e, 2);
  if (matrix) return matrix_norm(e, matrix_dims(e), e.number("ord"));
  norm_of(e, e.number("ord"));
}

}  // namespace

void register_norm_reduction(Registry& registry) {
  registry.handler("aten::var", variance<false, false>);
  registry.handler("aten::std", variance<true, false>);
  registry.handler("aten::var_mean", variance<false, true>);
  registry.handler("aten::std_mean", variance<true, true>);
  registry.handler("aten::norm", norm, {"magnitude"});
  registry.handler("aten::frobenius_norm", frobenius_norm, {"magnitude"});
  registry.handler("aten::linalg_vector_norm", vector_norm_of, {"magnitude"});
  registry.handler("aten::linalg_matrix_norm", linalg_matrix_norm);
  registry.handler("aten::linalg_matrix_norm.str_ord", named_norm);
  registry.handler("aten::linalg_norm", linalg_norm, {"magnitude"});
  registry.handler("aten::linalg_norm.ord_str", named_norm);
}

}  // namespace compatcheck::handlers

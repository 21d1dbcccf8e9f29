// Determinants, distances between rows, and combinations of powers and diagonals.
#include "handlers/compute.h"
#include "handlers/double_forms.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

// ---- Determinants

Value determinant_of(Emission& e, const char* name) { return determinant(e, e.tensor(name), e.shape(name)); }

void det(Emission& e) { e.give(determinant_of(e, e.call.has("A") ? "A" : "self")); }
void logdet(Emission& e) { e.give(e.node("Log", {determinant_of(e, "self")})); }

void slogdet(Emission& e) {
  const Value found = determinant_of(e, e.call.has("A") ? "A" : "self");
  // The sign of NaN is 0.
  const Value zero = e.scalar(found.dtype, 0);
  e.give(0, e.node("Sub",
                   {e.cast(e.node("Greater", {found, zero}), found.dtype), e.cast(e.node("Less", {found, zero}), found.dtype)}));
  if (e.output_used(1)) e.give(1, e.node("Log", {e.node("Abs", {found})}));
}

// ---- Products of vectors

// (a1 b2 - a2 b1, a2 b0 - a0 b2, a0 b1 - a1 b0)
void cross(Emission& e) {
  const DType dtype = e.output_dtype();
  const Shape shape = e.output_shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t axis = -1;
  if (e.given("dim")) axis = e.wrap(e.integer("dim"), rank);
  for (std::int64_t i = 0; axis < 0 && i < rank; ++i) {
    if (!shape[static_cast<std::size_t>(i)].is_number()) e.want("self", "the sizes");
    if (shape[static_cast<std::size_t>(i)].number() == 3) axis = i;
  }
  if (axis < 0) throw Refusal{"no dimension has the size 3"};
  const Value a = widened(e, e.tensor("self", dtype)), b = widened(e, e.tensor("other", dtype));
  const auto product = [&](const Ints& first, const Ints& second) {
    const Value left = e.build.gather(a, e.integers(first), axis - (rank - e.rank("self")));
    const Value right = e.build.gather(b, e.integers(second), axis - (rank - e.rank("other")));
    return rounded(e, e.node("Mul", {left, right}), dtype);
  };
  e.give(e.node("Sub", {product({1, 2, 0}, {2, 0, 1}), product({2, 0, 1}, {1, 2, 0})}));
}

constexpr std::int64_t most_columns = 1024;  // each is a node

// Powers of each element, as columns.
void vander(Emission& e) {
  const std::int64_t rank = e.rank("x");
  const DType dtype = e.output_dtype();
  const bool linalg = e.call.op() == "aten::linalg_vander";
  const std::int64_t count = e.given("N") ? e.integer("N") : e.known_size("x", -1);
  const bool rising = linalg || e.boolean("increasing");
  const Value x = e.build.unsqueeze(e.tensor("x", dtype), rank == 0 ? Ints{0, 1} : Ints{rank});
  if (is_floating(x)) {
    const auto last = static_cast<double>(count - 1);
    const auto powers = ir::listed<double>(static_cast<double>(count), [&](double i) { return rising ? i : last - i; });
    return e.give(e.node("Pow", {x, e.build.constant(onnx::make_tensor(dtype, {count}, powers))}));
  }
  // Integers wrap around: products, as the runtime's powers are doubles.
  if (count < 1) throw Refusal{"a matrix of powers without columns has no ONNX form"};
  Values columns{e.node("Add", {e.node("Sub", {x, x}), e.scalar(dtype, 1)})};
  if (count > most_columns)
    throw Refusal{"a matrix of more than " + std::to_string(most_columns) + " powers of integers has no ONNX form",
                  "compute with floats, whose powers are one operator"};
  for (std::int64_t i = 1; i < count; ++i) columns.push_back(e.node("Mul", {columns.back(), x}));
  if (!rising) std::ranges::reverse(columns);
  e.give(e.build.concat(columns, rank == 0 ? 1 : rank));
}

// ---- Distances

// For norm 0 PyTorch counts elements that differ, here so that NaN stays.
Value row_norm(Emission& e, const Value& off, std::int64_t axis) {
  const double p = e.number("p");
  if (p != 0) return vector_norm(e, off, p, {axis}, false);
  const Value steps = e.node("Ceil", {e.node("Abs", {off})}), one = e.scalar(off.dtype, 1);
  return reduce(e, "ReduceSum",
                e.at_least(8) ? e.node("Min", {steps, one}) : e.node("Clip", {steps}, {{"max", 1.0}, {"min", 0.0}}), {axis},
                false);
}

// NaN where a² - 2ab + b² is infinity less infinity, else 0.
Value lost_in_products(Emission& e, const Value& x1, const Value& x2, std::int64_t left, std::int64_t right) {
  const auto number = [&](double value) { return e.scalar(x1.dtype, value); };
  Ints swapped = all_axes(right);
  std::swap(swapped.end()[-1], swapped.end()[-2]);
  const Value there = e.build.transpose(x2, swapped);
  const Value squares = e.node("Add", {e.node("ReduceSumSquare", {x1}, {{"axes", Ints{left - 1}}, {"keepdims", 1}}),
                                       e.node("ReduceSumSquare", {there}, {{"axes", Ints{right - 2}}, {"keepdims", 1}})});
  const Value sum = e.node("Sub", {squares, e.node("Mul", {e.node("MatMul", {x1, there}), number(2)})});
  return e.node("Mul",
                {e.node("Reciprocal", {e.node("Add", {e.node("Abs", {sum}), number(1)})}), number(0)});  // infinity gives 0
}

// Computes the distances between every row of x1 and every row of x2.
void cdist(Emission& e) {
  const DType dtype = e.output_dtype();
  const std::int64_t left = e.rank("x1"), right = e.rank("x2"), rank = std::max(left, right) + 1;
  const Value x1 = e.tensor("x1", dtype), x2 = e.tensor("x2", dtype);
  const Value off = e.node("Sub", {e.build.unsqueeze(x1, {left - 1}), e.build.unsqueeze(x2, {right - 2})});
  const Value made = row_norm(e, off, rank - 1);
  e.give(e.variant("by_products") ? e.node("Add", {made, lost_in_products(e, x1, x2, left, right)}) : made);
}

void dist(Emission& e) {
  const DType dtype = e.output_dtype();
  const Value off = e.node("Sub", {e.tensor("self", dtype), e.tensor("other", dtype)});
  e.give(vector_norm(e, off, e.number("p", 2), all_axes(std::max(e.rank("self"), e.rank("other"))), false));
}

// Computes the distance of every pair of rows, each once.
void pdist(Emission& e) {
  const std::int64_t count = e.known_size("self", 0);
  Ints first, second;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = i + 1; j < count; ++j) first.push_back(i), second.push_back(j);
  const Value x = e.tensor("self");
  const Value off = e.node("Sub", {e.build.gather(x, e.integers(first), 0), e.build.gather(x, e.integers(second), 0)});
  e.give(row_norm(e, off, 1));
}

// Parts along a dimension that are longer than maxnorm are scaled to it.
void renorm(Emission& e) {
  const std::int64_t rank = e.rank("self"), axis = e.axis("dim");
  Ints axes = all_axes(rank);
  axes.erase(axes.begin() + axis);
  const Value x = widened(e, e.tensor("self"));
  const Value length = vector_norm(e, x, e.number("p"), axes, true), longest = e.number_value("maxnorm", x.dtype);
  const Value factor = e.node("Div", {longest, e.node("Add", {length, e.scalar(x.dtype, 1e-7)})});
  e.give(e.node("Mul", {x, where(e, e.node("Greater", {length, longest}), factor, e.scalar(x.dtype, 1))}));
}

}  // namespace

void register_linalg(Registry& registry) {
  for (const char* op : {"aten::det", "aten::linalg_det", "aten::_linalg_det"}) registry.handler(op, det);
  registry.handler("aten::logdet", logdet);
  for (const char* op : {"aten::slogdet", "aten::linalg_slogdet", "aten::_linalg_slogdet"}) registry.handler(op, slogdet);
  registry.handler("aten::cross", cross);
  for (const char* op : {"aten::vander", "aten::linalg_vander"}) registry.handler(op, vander);
  registry.handler("aten::cdist", cdist, {"by_products"});
  registry.handler("aten::dist", dist);
  registry.handler("aten::pdist", pdist);
  registry.handler("aten::renorm", renorm);
}

}  // namespace compatcheck::handlers

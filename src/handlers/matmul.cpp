// Products of matrices and vectors.
#include <algorithm>
#include <numeric>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/matrices.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// The last two dimensions changed.
Value matrix_transposed(Emission& e, const Value& matrix, std::int64_t rank) {
  Ints order = all_axes(rank);
  if (rank >= 2) std::swap(order[order.size() - 1], order[order.size() - 2]);
  return e.build.transpose(matrix, order);
}

// [..., m, k] times [..., k, n], of one dtype; either may be a vector. Before opset 9 MatMul takes floating values alone:
// integers are multiplied and summed, which stays exact.
Value matrix_product(Emission& e, const Value& a, std::int64_t rank_a, const Value& b, std::int64_t rank_b) {
  // ONNX Runtime's FusedMatMul computes other values of a transposed matrix times a vector. Its optimizer moves Transposes, so
  // whatever the matrix comes from, the vector becomes a matrix of one column.
  if (is_floating(a) && rank_a > 1 && rank_b == 1)
    return e.build.squeeze(e.node("MatMul", {a, e.build.unsqueeze(b, {1})}), {rank_a - 1});
  if (is_floating(a) || e.at_least(9)) return e.node("MatMul", {a, b});
  const Value left = rank_a == 1 ? e.build.unsqueeze(a, {0}) : a, right = rank_b == 1 ? e.build.unsqueeze(b, {1}) : b;
  const std::int64_t wide_a = std::max<std::int64_t>(rank_a, 2), wide_b = std::max<std::int64_t>(rank_b, 2),
                     rank = std::max(wide_a, wide_b) + 1;
  const Value products = e.node("Mul", {e.build.unsqueeze(left, {wide_a}), e.build.unsqueeze(right, {wide_b - 2})});
  Value made = reduce(e, "ReduceSum", products, {rank - 2}, false);
  Ints gone;
  if (rank_a == 1) gone.push_back(rank - 3);
  if (rank_b == 1) gone.push_back(rank - 2);
  return e.build.squeeze(made, gone);
}

// The dtype of a product with `out_dtype`, or the operands'.
Value operand(Emission& e, std::string_view name) { return e.tensor(name, e.output_dtype()); }

// ONNX Runtime leaves a product unset that sums nothing where the right operand has matrices that the left one lacks. `own` is
// the left one's shape.
Value with_matrices(Emission& e, const Value& value, const Shape& own, std::string_view right) {
  const Shape& others = e.shape(right);
  const std::size_t lead = others.size() - 2;
  bool lacks = own.size() < others.size();
  for (std::size_t i = 0; i < lead && !lacks; ++i) {
    const std::size_t missing = others.size() - own.size();
    lacks = others[i].number() != 1 && !provably_equal(own[i - missing], others[i]);
  }
  if (!lacks) return value;
  if (!e.at_least(8))
    throw Refusal{"matrices are repeated along a dimension that may have no elements by Expand, which came with opset 8",
                  "use opset 8, or numbers as sizes, such as --input x=f32:1,3,224,224"};
  const auto marked = e.build.plumbing();
  Values sizes;
  for (std::size_t i = 0; i < lead; ++i) sizes.push_back(e.size_of(right, static_cast<std::int64_t>(i)));
  sizes.push_back(e.integers({1, 1}));
  return e.node("Expand", {value, e.build.concat(sizes, 0)});
}

// So does its FusedMatMul, which takes the place of a Transpose and a product of matrices: a Reshape keeps them apart, and copies
// nothing.
Value kept_apart(Emission& e, const Value& value, std::int64_t rank, std::string_view argument) {
  const ir::Value* from = e.call.value(argument);
  for (const ir::Node* node = from ? from->producer() : nullptr; node && rank > 2; node = node->input(0)->producer()) {
    // The first emit no nodes, the others a Transpose.
    constexpr std::string_view same[] = {"aten::contiguous", "aten::clone", "aten::detach", "aten::alias", "aten::to"};
    constexpr std::string_view turned[] = {"aten::transpose", "aten::permute",  "aten::mT",      "aten::numpy_T", "aten::adjoint",
                                           "aten::swapaxes",  "aten::swapdims", "aten::movedim", "aten::moveaxis"};
    if (std::ranges::find(turned, node->op()) != std::end(turned))
      return e.build.reshape(value, Ints(static_cast<std::size_t>(rank), 0));
    if (node->inputs().empty() || std::ranges::find(same, node->op()) == std::end(same)) break;
  }
  return value;
}

// ONNX Runtime goes wrong about operands without elements: there vectors are matrices, and matrices are repeated.
Value careful_product(Emission& e, std::string_view first, std::string_view second) {
  std::int64_t left = e.rank(first), right = e.rank(second);
  Shape own = e.shape(first);
  const auto empty = [&](const Shape& shape) { return may_be_empty(shape, all_axes(std::ssize(shape))); };
  Value a = operand(e, first), b = operand(e, second);
  if ((left == 1 && right == 1) || (!empty(own) && !empty(e.shape(second)))) return matrix_product(e, a, left, b, right);
  Ints gone;
  const bool sums_nothing =
      may_be_zero(own.back()) && may_be_zero(e.shape(second)[static_cast<std::size_t>(std::max<std::int64_t>(right - 2, 0))]);
  if (left == 1) {
    a = e.build.unsqueeze(a, {0});
    own.insert(own.begin(), 1);
    gone = {right - 2};
    left = 2;
  }
  if (right == 1) {
    b = e.build.unsqueeze(b, {1});
    gone = {left - 1};
    right = 2;
  }
  if (sums_nothing) {
    a = kept_apart(e, a, left, first);
    b = kept_apart(e, b, right, second);
    if (right > 2) a = with_matrices(e, a, own, second), left = std::max(left, right);
  }
  return e.build.squeeze(matrix_product(e, a, left, b, right), gone);
}

template <const char* const* names>
void product_of_arguments(Emission& e) {
  e.give(careful_product(e, names[0], names[1]));
}

constexpr const char* self_other[] = {"self", "other"};
constexpr const char* self_mat2[] = {"self", "mat2"};
constexpr const char* self_vec[] = {"self", "vec"};
constexpr const char* self_tensor[] = {"self", "tensor"};

void product_of_all(Emission& e) {
  const char* name = e.call.has("matrices") ? "matrices" : "tensors";
  const auto facts = e.call.list(name);
  const Values parts = e.tensors(name);
  if (!facts || parts.empty()) throw Refusal{"how many matrices are multiplied isn't known"};
  const auto rank = [&](std::size_t i) {
    const auto* tensor = (*facts)[i]->tensor();
    if (!tensor || !tensor->shape) e.want(name, "the rank");
    return static_cast<std::int64_t>(tensor->shape->size());
  };
  Value made = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i)
    made = matrix_product(e, made, i == 1 ? rank(0) : rank(0) == 1 ? 1 : 2, parts[i], rank(i));
  e.give(made);
}

void matrix_power(Emission& e) {
  const std::int64_t n = e.integer("n"), rank = e.rank("self");
  Value x = e.tensor("self");
  if (n == 0) {
    const std::int64_t size = e.known_size("self", -1);
    Doubles ones(static_cast<std::size_t>(size * size), 0);
    for (std::int64_t i = 0; i < size; ++i) ones[static_cast<std::size_t>(i * (size + 1))] = 1;
    const Value identity = e.build.constant(onnx::make_tensor(x.dtype, {size, size}, ones));
    return e.give(rank == 2 ? identity : e.node("Expand", {identity, e.shape_of("self")}));
  }
  if (n < 0) x = e.cast(inverse_of(e, matrices(e, "self", wider(x.dtype))).value, x.dtype);
  std::optional<Value> made;
  Value square = x;
  for (std::int64_t left = std::abs(n);; square = e.node("MatMul", {square, square})) {
    if (left % 2) made = made ? e.node("MatMul", {*made, square}) : square;
    left /= 2;
    if (!left) break;
  }
  e.give(*made);
}

void outer(Emission& e) {
  const Value column = e.build.unsqueeze(operand(e, "self"), {1}), row = operand(e, "vec2");
  e.give(e.output_dtype() == DType::boolean ? e.node("And", {column, row}) : e.node("Mul", {column, row}));
}

void vecdot(Emission& e) {
  const std::int64_t rank = std::max(e.rank("x"), e.rank("y"));
  const Value products = e.node("Mul", {operand(e, "x"), operand(e, "y")});
  e.give(rank == 0 ? products : reduce(e, "ReduceSum", products, {e.wrap(e.integer("dim"), rank)}, false));
}

// The products over the last dimension of both.
void inner(Emission& e) {
  const std::int64_t left = e.rank("self"), right = e.rank("other");
  const Value a = operand(e, "self"), b = operand(e, "other");
  if (left == 0 || right == 0) return e.give(multiply(e, a, b));
  if (right <= 2) return e.give(matrix_product(e, a, left, matrix_transposed(e, b, right), right));
  Values rows;
  for (std::int64_t axis = 0; axis < right - 1; ++axis) rows.push_back(e.size_of("other", axis));
  const Value flat = reshape_to(e, b, nullptr, nullptr, [&] {
    return joined(e, {product_of(e, rows), e.size_of("other", right - 1)});
  });
  const Value made = matrix_product(e, a, left, e.build.transpose(flat, {1, 0}), 2);
  e.give(e.reshape(made, {}, e.output_shape()));
}

// ---- With weights

void linear(Emission& e) {
  const std::int64_t rank = e.rank("input"), weights = e.rank("weight");
  const Value x = operand(e, "input"), weight = operand(e, "weight");
  const bool bias = e.given("bias");
  if (e.variant("gemm")) return e.give(e.node("Gemm", {x, weight, bias ? operand(e, "bias") : Value{}}, {{"transB", 1}}));
  Value made = matrix_product(e, x, rank, weights == 2 ? e.build.transpose(weight, {1, 0}) : weight, weights);
  if (bias) made = e.node("Add", {made, operand(e, "bias")});
  e.give(made);
}

void trilinear(Emission& e) {
  Value product;
  for (const std::string number : {"1", "2", "3"}) {
    Ints axes = e.ints("expand" + number);
    std::ranges::sort(axes);
    const Value factor = e.build.unsqueeze(e.tensor("i" + number), axes);
    product = product ? multiply(e, product, factor) : factor;
  }
  Ints sums = e.ints("sumdim");
  std::ranges::sort(sums);
  e.give(sums.empty() ? product : reduce(e, "ReduceSum", product, sums, false));
}

// x1 · W · x2 for each output
void bilinear(Emission& e) {
  const std::int64_t rank = e.rank("input1");
  if (const auto sizes = numbers_of(e.shape("weight"))) {  // [..., in1] · [in1, out · in2]
    const std::int64_t out = (*sizes)[0], first = (*sizes)[1], second = (*sizes)[2];
    const Value weights = e.build.reshape(e.build.transpose(operand(e, "weight"), {1, 0, 2}), {first, out * second});
    Ints dims(static_cast<std::size_t>(rank) - 1, 0);
    dims.insert(dims.end(), {out, second});
    const Value weighed = e.build.reshape(matrix_product(e, operand(e, "input1"), rank, weights, 2), dims);
    const Value products = e.node("Mul", {weighed, e.build.unsqueeze(operand(e, "input2"), {rank - 1})});
    const Value made = reduce(e, "ReduceSum", products, {rank}, false);
    return e.give(e.given("bias") ? e.node("Add", {made, operand(e, "bias")}) : made);
  }
  const Value left = e.build.unsqueeze(e.build.unsqueeze(operand(e, "input1"), {rank - 1}), {rank});  // [..., 1, 1, in1]
  const Value weighed = matrix_product(e, left, rank + 2, operand(e, "weight"), 3);                   // [..., out, 1, in2]
  const Value right = e.build.unsqueeze(e.build.unsqueeze(operand(e, "input2"), {rank - 1}), {rank});
  Value made = reduce(e, "ReduceSum", e.node("Mul", {weighed, right}), {rank, rank + 1}, false);
  if (e.given("bias")) made = e.node("Add", {made, operand(e, "bias")});
  e.give(made);
}

// ---- beta · self + alpha · product; with beta 0 self is not read, NaN or not

Value scaled_by_argument(Emission& e, const Value& value, std::string_view factor) {
  const auto known = e.call.number(factor);
  if (known && *known == 1) return value;
  return e.node("Mul", {value, e.number_value(factor, value.dtype)});
}

void give_sum(Emission& e, const Value& product) {
  const Value scaled = scaled_by_argument(e, product, "alpha");
  const auto beta = e.given("beta") ? e.call.number("beta") : 1;
  if (beta == 0) return e.give(scaled);
  const Value made = e.node("Add", {scaled_by_argument(e, operand(e, "self"), "beta"), scaled});
  if (beta) return e.give(made);
  const Value factor = e.number_value("beta", made.dtype);
  e.give(where(e, equal(e, factor, constant(e, factor, 0)), scaled, made));
}

void addmm(Emission& e) {
  const Value a = operand(e, "mat1"), b = operand(e, "mat2");
  // ONNX Runtime's Gemm forgets beta where nothing is multiplied.
  if (e.variant("gemm"))
    return e.give(e.node("Gemm", {a, b, operand(e, "self")}, {{"alpha", e.number("alpha")}, {"beta", e.number("beta")}}));
  give_sum(e, matrix_product(e, a, 2, b, 2));
}

// A scale of the whole matrix, or one of each of its rows or columns.
Value scale_of_matrix(Emission& e, std::string_view argument, std::size_t inner) {
  const Shape& shape = e.shape(argument);
  const bool is_one = std::ranges::all_of(shape, [](const Dim& size) { return size.number() == 1; });
  if (!is_one && (shape.size() != 2 || shape[inner].number() != 1))
    throw Refusal{"scales of blocks aren't supported", "use a scale for each matrix, row or column"};
  return is_one && shape.size() > 2 ? e.build.reshape(operand(e, argument), {1}) : operand(e, argument);
}

void scaled_mm(Emission& e) {
  if (!ir::is_floating(e.output_dtype()) || ir::element_bytes(e.output_dtype()) < 2)
    throw Refusal{"results of fp8 aren't supported", "set out_dtype to torch.float32, torch.bfloat16 or torch.float16"};
  const auto single = [&](std::string_view argument) { return e.cast(operand(e, argument), DType::f32); };
  const Value scale = e.node("Mul", {scale_of_matrix(e, "scale_a", 1), scale_of_matrix(e, "scale_b", 0)});
  Value result = e.node("Mul", {matrix_product(e, single("self"), 2, single("mat2"), 2), scale});
  if (e.given("bias")) result = e.node("Add", {result, single("bias")});
  e.give(e.cast(result, e.output_dtype()));
}

void baddbmm(Emission& e) { give_sum(e, matrix_product(e, operand(e, "batch1"), 3, operand(e, "batch2"), 3)); }
void addmv(Emission& e) { give_sum(e, careful_product(e, "mat", "vec")); }

void addbmm(Emission& e) {
  give_sum(e, reduce(e, "ReduceSum", matrix_product(e, operand(e, "batch1"), 3, operand(e, "batch2"), 3), {0}, false));
}

void addr(Emission& e) {
  const Value column = e.build.unsqueeze(operand(e, "vec1"), {1}), row = operand(e, "vec2");
  if (e.output_dtype() != DType::boolean) return give_sum(e, e.node("Mul", {column, row}));
  // Bools are joined by or and and.
  const auto factor = [&](const Value& value, std::string_view name) {
    return e.number(name) == 0 ? e.node("And", {value, e.scalar(DType::boolean, 0)}) : value;
  };
  const Value product = factor(e.node("And", {column, row}), "alpha");
  if (e.number("beta") == 0) return e.give(product);
  e.give(e.node("Or", {operand(e, "self"), product}));
}

// ---- Over chosen dimensions

Ints rest_of(std::int64_t rank, const Ints& over) {
  Ints dims;
  for (std::int64_t i = 0; i < rank; ++i)
    if (std::ranges::find(over, i) == over.end()) dims.push_back(i);
  return dims;
}

// Splits the dimension in two: as many sums as the other tensor has elements, [n, 1] if the sizes are equal and [1, n] if one
// of them is 1.
Value parted_by_size(Emission& e, const Value& x, std::int64_t rank, std::int64_t axis, const Value& size, const Value& against) {
  const auto marked = e.build.plumbing();
  const Value one = e.integers({1});
  const auto is = [&](const Value& value, std::int64_t number) { return e.node("Equal", {value, e.integers({number})}); };
  const Value sums = e.node("Where", {e.node("Or", {is(size, 1), is(against, 1)}), one, size});
  const Value terms = quotient(e, size, e.node("Where", {is(sums, 0), one, sums}));
  Values sizes;
  for (std::int64_t other = 0; other < rank; ++other) {
    if (other == axis)
      sizes.insert(sizes.end(), {sums, terms});
    else
      sizes.push_back(size_at(e, x, other));
  }
  return reshape_to(e, x, nullptr, nullptr, [&] { return joined(e, sizes); });
}

// PyTorch takes a contracted dimension of size 1 against any size, and sums the other one's before it multiplies. Which of them
// is 1 may show when the model runs.
Value contractible(Emission& e, std::string_view name, const Ints& over, std::string_view other, const Ints& over_other) {
  const Shape &own = e.shape(name), &others = e.shape(other);
  Value x = operand(e, name);
  Ints summed;
  for (std::size_t i = 0; i < over.size(); ++i) {
    const Dim &from = own[static_cast<std::size_t>(over[i])], &to = others[static_cast<std::size_t>(over_other[i])];
    if (from.number() == 1 || provably_equal(from, to) || (from.is_number() && to.is_number() && to.number() != 1)) continue;
    if (to.number() == 1) {
      summed.push_back(over[i]);
      continue;
    }
    if (!e.at_least(9))
      throw Refusal{"whether a contracted dimension is 1 isn't known, which needs Where before opset 9",
                    "use opset 9, or name the sizes"};
    x = parted_by_size(e, x, std::ssize(own), over[i], e.size_of(name, over[i]), e.size_of(other, over_other[i]));
    x = reduce(e, "ReduceSum", x, {over[i] + 1}, false);
  }
  return summed.empty() ? x : reduce(e, "ReduceSum", x, summed, true);
}

void tensordot(Emission& e) {
  const std::int64_t left = e.rank("self"), right = e.rank("other");
  Ints over_self = e.ints("dims_self"), over_other = e.ints("dims_other");
  for (std::int64_t& dim : over_self) dim = e.wrap(dim, left);
  for (std::int64_t& dim : over_other) dim = e.wrap(dim, right);
  if (over_self.size() != over_other.size()) throw Refusal{"both tensors are summed over as many dimensions"};
  const Ints rest_self = rest_of(left, over_self), rest_other = rest_of(right, over_other);
  const Value self = contractible(e, "self", over_self, "other", over_other),
              other = contractible(e, "other", over_other, "self", over_self);
  const auto sizes = [&](std::string_view name, const Ints& dims) {
    Values made;
    for (const std::int64_t dim : dims) made.push_back(e.size_of(name, dim));
    return made;
  };
  Values contracted;
  for (std::size_t i = 0; i < over_self.size(); ++i) {
    const auto known = e.size("self", over_self[i]);
    contracted.push_back(known && known == e.size("other", over_other[i]) ? e.integers({*known})
                                                                          : size_at(e, self, over_self[i]));
  }
  // Reshape doesn't infer sizes here: one of them may be 0.
  const auto shaped = [&](const Value& x, const Value& dims) { return reshape_to(e, x, nullptr, nullptr, [&] { return dims; }); };
  const Values rows = sizes("self", rest_self), columns = sizes("other", rest_other);
  const Value count = product_of(e, contracted), row_count = product_of(e, rows), column_count = product_of(e, columns);
  const auto joined_axes = [](Ints a, const Ints& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const Value a = shaped(e.build.transpose(self, joined_axes(rest_self, over_self)), joined(e, {row_count, count}));
  const Value b = shaped(e.build.transpose(other, joined_axes(over_other, rest_other)), joined(e, {count, column_count}));
  Values dims = rows;
  dims.insert(dims.end(), columns.begin(), columns.end());
  e.give(shaped(matrix_product(e, a, 2, b, 2), joined(e, dims)));
}

void kron(Emission& e) {
  const std::int64_t rank = std::max(e.rank("self"), e.rank("other"));
  // [a1, 1, a2, 1, …] times [1, b1, 1, b2, …]
  const auto spread = [&](std::string_view name, bool first) {
    Value x = operand(e, name);
    Ints leading(static_cast<std::size_t>(rank - e.rank(name)));
    std::iota(leading.begin(), leading.end(), 0);
    x = e.build.unsqueeze(x, leading);
    Ints axes;
    for (std::int64_t i = 0; i < rank; ++i) axes.push_back(2 * i + first);
    return e.build.unsqueeze(x, axes);
  };
  const Value a = spread("self", true), b = spread("other", false);
  const Value made = e.output_dtype() == DType::boolean ? e.node("And", {a, b}) : e.node("Mul", {a, b});
  Values dims;
  for (std::int64_t i = 0; i < rank; ++i) {
    const auto of = [&](std::string_view name) {
      const std::int64_t axis = i - (rank - e.rank(name));
      return axis < 0 ? e.integers({1}) : e.size_of(name, axis);
    };
    const Value x = of("self"), y = of("other");
    const auto p = e.build.ints_of(x), q = e.build.ints_of(y);
    dims.push_back(p && q ? e.integers({p->front() * q->front()}) : e.node("Mul", {x, y}));
  }
  e.give(rank == 0 ? made : reshape_to(e, made, nullptr, nullptr, [&] { return joined(e, dims); }));
}

}  // namespace

void register_matmul(Registry& registry) {
  registry.handler("aten::matmul", product_of_arguments<self_other>);
  registry.handler("aten::mm", product_of_arguments<self_mat2>);
  registry.handler("aten::bmm", product_of_arguments<self_mat2>);
  registry.handler("aten::mv", product_of_arguments<self_vec>);
  registry.handler("aten::dot", product_of_arguments<self_tensor>);
  registry.handler("aten::vdot", product_of_arguments<self_other>);
  registry.handler("aten::linalg_multi_dot", product_of_all);
  registry.handler("aten::chain_matmul", product_of_all);
  registry.handler("aten::linalg_matrix_power", matrix_power);
  registry.handler("aten::outer", outer);
  registry.handler("aten::linalg_vecdot", vecdot);
  registry.handler("aten::inner", inner);
  registry.handler("aten::linear", linear, {"gemm"});
  registry.handler("aten::bilinear", bilinear);
  registry.handler("aten::_trilinear", trilinear);
  registry.handler("aten::addmm", addmm, {"gemm"});
  registry.handler("aten::_scaled_mm", scaled_mm);
  registry.handler("aten::baddbmm", baddbmm);
  registry.handler("aten::addmv", addmv);
  registry.handler("aten::addbmm", addbmm);
  registry.handler("aten::addr", addr);
  registry.handler("aten::tensordot", tensordot);
  registry.handler("aten::kron", kron);
}

}  // namespace compatcheck::handlers

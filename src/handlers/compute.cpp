#include "handlers/compute.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "symbolic/emptiness.h"

namespace compatcheck::handlers {
namespace {

bool is_norm(std::string_view op) { return op == "ReduceL1" || op == "ReduceL2"; }

}  // namespace

Ints all_axes(std::int64_t rank) {
  Ints axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Value reduce(Emission& e, std::string_view op, const Value& value, const Ints& axes, bool keep) {
  if (axes.empty()) return is_norm(op) ? e.node("Abs", {value}) : value;
  const auto of = [&](const Value& x) { return e.node(op, {x}, {{"axes", axes}, {"keepdims", keep}}); };
  // ONNX Runtime computes i32 in doubles and clamps to the dtype's range; PyTorch's sums wrap around. In i64 they do as far as
  // doubles are exact.
  const bool wraps = value.dtype == DType::i32 && (op == "ReduceSum" || op == "ReduceProd");
  return wraps ? e.cast(of(e.cast(value, DType::i64)), DType::i32) : of(value);
}

bool may_be_empty(const Shape& shape, const Ints& axes) {
  return std::ranges::any_of(
      axes, [&](std::int64_t axis) { return !provably_at_least_if_empty(shape.at(static_cast<std::size_t>(axis)), 1); });
}

bool minds_empty(Emission& e, const Shape& shape, const Ints& axes) {
  return may_be_empty(shape, axes) && !e.build.compact("the result may differ from PyTorch's where a size is 0");
}

Value mean(Emission& e, const Value& value, const Shape& shape, const Ints& axes, bool keep) {
  if (!minds_empty(e, shape, axes)) return reduce(e, "ReduceMean", value, axes, keep);
  std::optional<std::int64_t> known = 1;
  for (const std::int64_t axis : axes) {
    const auto size = shape[static_cast<std::size_t>(axis)].number();
    known = known && size ? std::optional(*known * *size) : std::nullopt;
  }
  if (known) return e.node("Div", {reduce(e, "ReduceSum", value, axes, keep), e.scalar(value.dtype, *known)});
  const Value sizes = e.build.gather(e.node("Shape", {value}), e.integers(axes), 0);
  const Value count = e.cast(e.node("ReduceProd", {sizes}, {{"axes", Ints{0}}, {"keepdims", 0}}), value.dtype);
  return e.node("Div", {reduce(e, "ReduceSum", value, axes, keep), count});
}

Value running(Emission& e, const Value& mean) { return e.node("Add", {mean, e.node("Mul", {mean, e.scalar(mean.dtype, 0)})}); }

Value linear_layer(Emission& e, const Value& input, const Value& weight, const Value& bias) {
  const Value product = e.node("MatMul", {input, e.build.transpose(weight, {1, 0})});
  return bias ? e.node("Add", {product, bias}) : product;
}

Value no_elements(Emission& e, DType dtype) { return e.build.constant({.dtype = dtype, .dims = {0}, .bytes = {}, .view = {}}); }

Value element_count(Emission& e, std::string_view tensor, const Ints& axes, DType dtype) {
  std::int64_t known = 1;
  Values sizes;
  for (const std::int64_t axis : axes) {
    if (const auto size = e.size(tensor, axis))
      known *= *size;
    else
      sizes.push_back(e.size_of(tensor, axis));
  }
  if (sizes.empty()) return e.scalar(dtype, known);
  sizes.push_back(e.integers({known}));
  return e.cast(e.node("ReduceProd", {e.build.concat(sizes, 0)}, {{"axes", Ints{0}}, {"keepdims", 0}}), dtype);
}

Value reduce_loss(Emission& e, const Value& value, const Shape& shape) {
  const Ints axes = all_axes(static_cast<std::int64_t>(shape.size()));
  switch (e.integer("reduction")) {
    case 0: return value;
    case 1: return mean(e, value, shape, axes, false);
    case 2: return reduce(e, "ReduceSum", value, axes, false);
    default: throw Refusal{"an unknown reduction"};
  }
}

Value widened(Emission& e, const Value& value) {
  return value.dtype == DType::f16 || value.dtype == DType::bf16 ? e.cast(value, DType::f32) : value;
}

Value rounded(Emission& e, const Value& value, DType narrow) { return e.cast(e.cast(value, narrow), value.dtype); }

// The sum of magnitudes is at least as great as every element, and NaN only if one is: Min and Max keep that NaN.
Value extreme(Emission& e, Extreme which, const Value& value, const Ints& axes, bool keep) {
  const bool greatest = which == Extreme::greatest;
  const Value found = reduce(e, greatest ? "ReduceMax" : "ReduceMin", value, axes, keep);
  if (axes.empty() || !minds_nan(e, value)) return found;
  const Value bound = e.node("ReduceL1", {value}, {{"axes", axes}, {"keepdims", keep}});
  return greatest ? e.node("Min", {found, bound}) : e.node("Max", {found, e.node("Neg", {bound})});
}

Value place_of_extreme(Emission& e, Extreme which, const Value& value, std::int64_t axis, bool keep) {
  const Arguments attributes{{"axis", axis}, {"keepdims", keep}};
  const Value found = e.node(which == Extreme::greatest ? "ArgMax" : "ArgMin", {value}, attributes);
  if (!minds_nan(e, value)) return found;
  const Value nan = e.cast(is_nan(e, value), DType::i32);
  const Value any = e.cast(e.node("ReduceMax", {nan}, {{"axes", Ints{axis}}, {"keepdims", keep}}), DType::boolean);
  return where(e, any, e.node("ArgMax", {nan}, attributes), found);
}

Value part(Emission& e, const Value& value, std::int64_t axis, std::int64_t start, std::int64_t end) {
  return e.build.slice(value, {start}, {end}, {axis});
}

Value filled(Emission& e, const Value& dims, DType dtype, double number) {
  if (const auto known = e.build.ints_of(dims)) {
    std::int64_t count = 1;
    for (const std::int64_t dim : *known) count *= dim;
    if (count <= 4096)
      return e.build.constant(onnx::make_tensor(dtype, *known, Doubles(static_cast<std::size_t>(count), number)));
  }
  if (e.at_least(9))
    return e.node("ConstantOfShape", {dims}, {{"value", onnx::make_tensor(dtype, {1}, std::vector<double>{number})}}, dtype);
  return e.node("Expand", {e.scalar(dtype, number), dims});
}

Value power_norm(Emission& e, const Value& value, double p, const Ints& axes, bool keep) {
  const Value magnitude = e.node("Abs", {widened(e, value)});
  const DType dtype = magnitude.dtype;
  const Value sum = reduce(e, "ReduceSum", e.node("Pow", {magnitude, e.scalar(dtype, p)}), axes, keep);
  return e.cast(e.node("Pow", {sum, e.scalar(dtype, 1 / p)}), value.dtype);
}

Value vector_norm(Emission& e, const Value& value, double p, const Ints& axes, bool keep) {
  if (p == 0) {  // the number of elements that aren't 0; NaN counts
    const DType dtype = value.dtype == DType::f64 ? DType::f64 : DType::f32;
    return e.cast(reduce(e, "ReduceSum", e.cast(e.cast(value, DType::boolean), dtype), axes, keep), value.dtype);
  }
  if (axes.empty()) return e.node("Abs", {value});
  if (p == 1) return reduce(e, "ReduceL1", value, axes, keep);
  if (p == 2) return reduce(e, "ReduceL2", value, axes, keep);
  if (std::isinf(p)) return extreme(e, p > 0 ? Extreme::greatest : Extreme::least, e.node("Abs", {value}), axes, keep);
  return power_norm(e, value, p, axes, keep);
}

}  // namespace compatcheck::handlers

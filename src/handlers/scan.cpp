// Step by step along a dimension: running products and extremes, and the parts of a running sum.
#include <algorithm>
#include <functional>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// ---- Scan

// `self` without the dimension: ONNX Runtime requires this shape in a body.
std::vector<onnx::Dimension> slice_shape(Emission& e, std::int64_t axis) {
  std::vector<onnx::Dimension> dims;
  for (const Dim& dim : e.shape("self")) dims.push_back({dim.number(), {}});
  dims.erase(dims.begin() + axis);
  return dims;
}

// Carries `states` from step to step: `step` gets them and a slice of `x`, and returns the next ones. The first `given` states
// after each step are concatenated along the axis.
// States are slices, except a last one that counts.
Values scan(Emission& e, const Values& states, const Value& x, std::int64_t axis, std::size_t given,
            const std::function<Values(const Values&, const Value&)>& step) {
  const auto body = e.build.begin_body();
  Values before;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const bool counts = i > 0 && i + 1 == states.size();
    before.push_back(e.build.body_input(states[i].dtype, false, counts ? std::vector<onnx::Dimension>{} : slice_shape(e, axis)));
  }
  const Value slice = e.build.body_input(x.dtype, false, slice_shape(e, axis));
  Values after = step(before, slice);
  // A value leaves the body by one name only.
  for (std::size_t i = 0; i < given; ++i) after.push_back(e.build.again(after[i]));
  e.build.end_body(after);
  Values inputs = states;
  inputs.push_back(x);
  std::vector<DType> dtypes;
  for (const Value& value : after) dtypes.push_back(value.dtype);
  const auto made = e.build.control(
      "Scan", inputs,
      {{"body", body}, {"num_scan_inputs", 1}, {"scan_input_axes", Ints{axis}}, {"scan_output_axes", Ints(given, axis)}}, dtypes,
      std::vector<bool>(dtypes.size(), false));
  return {made.begin() + static_cast<std::ptrdiff_t>(states.size()), made.end()};
}

// ONNX Runtime's Scan fails on a tensor without elements, which is returned unchanged. `compute` returns values of `dtypes` and
// of the size of x.
Values unless_empty(Emission& e, const Value& x, const std::vector<DType>& dtypes, const std::function<Values()>& compute) {
  if (!may_be_empty(e.shape("self"), all_axes(e.rank("self")))) return compute();
  const Value empty = e.node("Equal", {e.node("Size", {x}), e.scalar(DType::i64, 0)});
  const auto nothing = e.build.begin_body();
  Values none;
  for (const DType dtype : dtypes) none.push_back(dtype == x.dtype ? e.build.again(x) : e.cast(x, dtype));
  e.build.end_body(none);
  const auto steps = e.build.begin_body();
  Values made = compute();
  for (Value& value : made) value = e.build.again(value);
  e.build.end_body(made);
  return e.build.control("If", {empty}, {{"then_branch", nothing}, {"else_branch", steps}}, dtypes,
                         std::vector<bool>(dtypes.size(), false));
}

// Returns the first step's state: a number in every place of a slice.
Value start(Emission& e, const Value& x, std::int64_t axis, DType dtype, double number) {
  Ints dims;
  for (const Dim& dim : e.shape("self")) dims.push_back(dim.number().value_or(-1));
  dims.erase(dims.begin() + axis);
  const bool known = std::ranges::find(dims, -1) == dims.end();
  Ints others = all_axes(e.rank("self"));
  others.erase(others.begin() + axis);
  return filled(e, known ? e.integers(dims) : e.build.gather(e.node("Shape", {x}), e.integers(others), 0), dtype, number);
}

Value step_by_step(Emission& e, const Value& x, std::string_view op, double first) {
  const std::int64_t axis = e.axis("dim");
  const auto compute = [&] {
    return scan(e, {start(e, x, axis, x.dtype, first)}, x, axis, 1, [&](const Values& state, const Value& slice) -> Values {
      return {e.node(op, {state[0], slice})};
    });
  };
  return unless_empty(e, x, {x.dtype}, compute).front();
}

void cumsum(Emission& e) {
  const Value x = e.tensor("self", e.output_dtype());
  if (e.rank("self") == 0) return e.give(x);
  if (e.at_least(11)) return e.give(e.node("CumSum", {x, e.scalar(DType::i64, e.axis("dim"))}));
  e.give(step_by_step(e, widened(e, x), "Add", 0));
}

void cumprod(Emission& e) {
  const Value x = e.tensor("self", e.output_dtype());
  if (e.rank("self") == 0) return e.give(x);
  const std::int64_t axis = e.axis("dim");
  if (e.variant("operator")) return e.give(e.node("CumProd", {x, e.scalar(DType::i64, axis)}));
  e.give(step_by_step(e, widened(e, x), "Mul", 1));
}

// Chooses the last of equal values; the first NaN stays until the next NaN.
template <bool greatest>
void cumulative_extreme(Emission& e) {
  Value x = e.tensor("self");
  const DType dtype = x.dtype;
  if (e.rank("self") == 0) {
    e.give(0, x);
    return e.give(1, e.scalar(DType::i64, 0));
  }
  if (dtype == DType::boolean) x = e.cast(x, DType::i32);
  if (dtype == DType::f16 || dtype == DType::bf16) x = e.cast(x, DType::f32);
  const std::int64_t axis = e.axis("dim");
  const auto step = [&](const Values& state, const Value& slice) -> Values {
    Value stays = e.node(greatest ? "Less" : "Greater", {slice, state[0]});
    if (is_floating(slice))
      stays = e.node("Or", {stays, e.node("And", {is_nan(e, state[0]), e.node("Not", {is_nan(e, slice)})})});
    return {where(e, stays, state[0], slice), where(e, stays, state[1], state[2]),
            e.node("Add", {state[2], e.scalar(DType::i64, 1)})};
  };
  const auto compute = [&] {
    const Value first = e.build.gather(x, e.scalar(DType::i64, 0), axis);
    return scan(e, {first, start(e, x, axis, DType::i64, 0), e.scalar(DType::i64, 0)}, x, axis, 2, step);
  };
  const auto made = unless_empty(e, x, {x.dtype, DType::i64}, compute);
  e.give(0, made[0]);
  e.give(1, made[1]);
}

// max(a, b) + log(1 + exp(-|a - b|)); two equal infinities stay.
void logcumsumexp(Emission& e) {
  const Value x = widened(e, e.tensor("self"));
  if (e.rank("self") == 0) return e.give(x);
  const std::int64_t axis = e.axis("dim");
  const auto step = [&](const Values& state, const Value& slice) -> Values {
    const Value greater = e.node("Max", {state[0], slice}),
                off = e.node("Neg", {e.node("Abs", {e.node("Sub", {state[0], slice})})});
    const Value more = e.node("Log", {e.node("Add", {e.node("Exp", {off}), e.scalar(x.dtype, 1)})});
    return {where(e, is_nan(e, off), greater, e.node("Add", {greater, more}))};
  };
  const auto compute = [&] { return scan(e, {start(e, x, axis, x.dtype, -infinity)}, x, axis, 1, step); };
  e.give(unless_empty(e, x, {x.dtype}, compute).front());
}

// ---- Differences and areas

Value after(Emission& e, const Value& x, std::int64_t axis) { return part(e, x, axis, 1, to_end); }
Value before(Emission& e, const Value& x, std::int64_t axis) { return part(e, x, axis, 0, -1); }

void diff(Emission& e) {
  const std::int64_t times = e.integer("n"), axis = e.axis("dim");
  if (times == 0) return e.give(e.tensor("self"));
  const DType dtype = e.output_dtype();
  Values parts;
  for (const char* name : {"prepend", "self", "append"}) {
    if (!e.given(name)) continue;
    Value one = e.tensor(name, dtype);
    if (e.rank(name) == 0 && e.rank("self") > 0) {
      Shape dims = e.shape("self");
      dims[static_cast<std::size_t>(axis)] = 1;
      one = e.node("Expand", {one, e.dims_value(dims)});
    }
    parts.push_back(one);
  }
  Value x = e.build.concat(parts, axis);
  if (times < 0 || times > 64) throw Refusal{"diff is supported for n from 0 to 64, but n is " + std::to_string(times)};
  for (std::int64_t i = 0; i < times; ++i)
    x = e.node(dtype == DType::boolean ? "Xor" : "Sub", {after(e, x, axis), before(e, x, axis)});
  e.give(x);
}

// Widths of the steps between samples: differences of x in its own dtype, in which integers wrap around, or dx.
Value widths(Emission& e, std::int64_t axis) {
  if (e.rank("y") == 0 || (e.call.has("x") && e.rank("x") == 0)) throw symbolic::Impossible{"'y' and 'x' must have a dimension"};
  if (!e.call.has("x")) return e.number_value("dx", e.output_dtype());
  const Value x = e.tensor("x");
  if (e.rank("x") != 1 || e.rank("y") == 1) {
    const std::int64_t at = e.rank("x") == 1 ? 0 : axis;
    return e.node("Sub", {after(e, x, at), before(e, x, at)});
  }
  Ints dims(static_cast<std::size_t>(e.rank("y")), 1);
  dims[static_cast<std::size_t>(axis)] = -1;
  return e.build.reshape(e.node("Sub", {after(e, x, 0), before(e, x, 0)}), dims);
}

// In PyTorch's order, which decides on infinities and where integers wrap around: of steps that are all as wide, the sum of all
// less half of both ends.
void trapezoid(Emission& e) {
  const std::int64_t axis = e.axis("dim", "y");
  const Dim samples = e.rank("y") > 0 ? e.shape("y").at(static_cast<std::size_t>(axis)) : Dim(1);
  const bool keeps_dtype = ir::is_floating(e.dtype("y")) && (!e.call.has("x") || result_type(e, {"y", "x"}) == e.dtype("y"));
  if (!keeps_dtype && !samples.is_number() && may_be_zero(samples))
    throw Refusal{"the result has the dtype of y if the size is 0 and another dtype otherwise, and the size may be 0",
                  "convert y to the dtype of the result first, or give a number for the size"};
  const DType dtype = e.output_dtype();
  const Value y = e.tensor("y"), half = e.scalar(dtype, 0.5), width = widths(e, axis);
  const auto sum = [&](const Value& value) {
    const Value terms = ir::is_floating(value.dtype) ? value : e.cast(value, DType::i64);
    return e.cast(reduce(e, "ReduceSum", terms, {axis}, false), dtype);
  };
  if (e.call.has("x")) {
    const DType of_both = result_type(e, {"y", "x"});
    const Value sums = e.cast(e.node("Add", {before(e, y, axis), after(e, y, axis)}), of_both);
    return e.give(e.node("Mul", {sum(e.node("Mul", {sums, e.cast(width, of_both)})), half}));
  }
  // The ends go through sums, too, which are zeros where there are no elements.
  const auto end = [&](std::int64_t from, std::int64_t to) {
    return reduce(e, "ReduceSum", part(e, y, axis, from, to), {axis}, false);
  };
  const Value ends = e.cast(e.node("Add", {end(0, 1), end(-1, to_end)}), dtype);
  e.give(e.node("Mul", {e.node("Sub", {sum(y), e.node("Mul", {ends, half})}), width}));
}

void cumulative_trapezoid(Emission& e) {
  const DType dtype = e.output_dtype();
  const std::int64_t axis = e.axis("dim", "y");
  const Value y = e.tensor("y"), width = widths(e, axis), half = e.scalar(dtype, 0.5), along = e.scalar(DType::i64, axis);
  const Value sums = e.node("Add", {before(e, y, axis), after(e, y, axis)});
  if (!e.call.has("x")) {
    const Value areas = e.node("Mul", {e.node("Mul", {width, half}), e.cast(sums, dtype)});
    return e.give(e.node("CumSum", {areas, along}));
  }
  const DType of_both = result_type(e, {"y", "x"});
  const Value areas = e.node("Mul", {e.cast(sums, of_both), e.cast(width, of_both)});
  const Value whole = e.node("CumSum", {ir::is_floating(of_both) ? areas : e.cast(areas, DType::i64), along});
  e.give(e.node("Mul", {e.cast(whole, dtype), half}));
}

// Central differences over two steps of `spacing`, one-sided ones at the edges.
Value gradient_along(Emission& e, const Value& x, std::int64_t axis, const Value& spacing, bool square) {
  const auto at = [&](std::int64_t from, std::int64_t to) { return part(e, x, axis, from, to); };
  const auto scaled = [&](double factor, const Value& value) { return e.node("Mul", {value, e.scalar(x.dtype, factor)}); };
  const auto over = [&](const Value& value) { return e.node("Div", {value, spacing}); };
  const auto off = [&](const Value& a, const Value& b) { return e.node("Sub", {a, b}); };
  const Value middle = scaled(0.5, over(off(at(2, to_end), at(0, -2))));
  Value left, right;
  if (square) {
    left = off(e.node("Add", {scaled(-1.5, at(0, 1)), scaled(2, at(1, 2))}), scaled(0.5, at(2, 3)));
    right = e.node("Add", {off(scaled(0.5, at(-3, -2)), scaled(2, at(-2, -1))), scaled(1.5, at(-1, to_end))});
  } else {
    left = off(at(1, 2), at(0, 1));
    right = off(at(-1, to_end), at(-2, -1));
  }
  return e.build.concat({over(left), middle, over(right)}, axis);
}

void gradient(Emission& e) {
  const DType dtype = symbolic::to_float(e.dtype("self"));
  const Value x = e.tensor("self", dtype);
  const std::int64_t rank = e.rank("self");
  Ints axes = all_axes(rank);
  if (e.given("dim")) {
    axes = e.call.fact("dim").number() ? Ints{e.integer("dim")} : e.ints("dim");
    for (std::int64_t& axis : axes) axis = e.wrap(axis, rank);
  }
  const auto spacings = e.call.fact("spacing").list() ? e.call.list("spacing") : std::nullopt;
  Values made;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    double step = 1;
    if (spacings) {
      const auto* number = (*spacings)[i]->number();
      if (!number) throw Refusal{"coordinates of a gradient are no constants", "give the spacing as numbers"};
      step = number->floating ? *number->floating : static_cast<double>(number->integer->number().value_or(1));
    } else if (e.given("spacing")) {
      step = e.number("spacing");
    }
    made.push_back(gradient_along(e, x, axes[i], e.scalar(dtype, step), e.integer("edge_order") == 2));
  }
  e.give_list(0, made);
}

}  // namespace

void register_scan(Registry& registry) {
  registry.handler("aten::cumsum", cumsum);
  registry.handler("aten::cumprod", cumprod, {"operator"});
  registry.handler("aten::cummax", cumulative_extreme<true>);
  registry.handler("aten::cummin", cumulative_extreme<false>);
  registry.handler("aten::logcumsumexp", logcumsumexp);
  registry.handler("aten::diff", diff);
  registry.handler("aten::trapezoid", trapezoid);
  registry.handler("aten::cumulative_trapezoid", cumulative_trapezoid);
  registry.handler("aten::gradient", gradient);
}

}  // namespace compatcheck::handlers

// Quantization as torchao's PT2E writes it, between plain integers and floats. QuantizeLinear and DequantizeLinear stay pairs, as
// engines look for them; what they can't hold is computed step by step in the dtypes in which PyTorch computes it.
// Source: torch/ao/quantization/fx/_decomposed.py.
#include <algorithm>
#include <limits>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/quantized.h"

namespace compatcheck::handlers {
namespace {

// Promotes two tensors that have dimensions.
std::pair<Value, Value> promoted(Emission& e, const Value& a, const Value& b) {
  const auto dtype = symbolic::promote_types(a.dtype, b.dtype);
  if (!dtype) throw Refusal{"PyTorch doesn't compute with these dtypes together"};
  return {e.cast(a, *dtype), e.cast(b, *dtype)};
}

Value promoted_sum(Emission& e, const Value& a, const Value& b) {
  const auto [x, y] = promoted(e, a, b);
  return add(e, x, y);
}
Value promoted_difference(Emission& e, const Value& a, const Value& b) {
  const auto [x, y] = promoted(e, a, b);
  return subtract(e, x, y);
}
Value promoted_product(Emission& e, const Value& a, const Value& b) {
  const auto [x, y] = promoted(e, a, b);
  return multiply(e, x, y);
}

// A number or a tensor of one element, without dimensions.
Value one(Emission& e, std::string_view argument, DType dtype) {
  const Value value = e.number_value(argument, dtype);
  return e.call.fact(argument).number() ? value : e.build.reshape(value, {});
}

// A vector over `axis` of the input, such that it broadcasts.
Value along_axis(Emission& e, const Value& vector) {
  Ints axes;
  for (std::int64_t i = e.rank("input") - e.axis("axis", "input") - 1; i > 0; --i) axes.push_back(i);
  return e.build.unsqueeze(vector, axes);
}

Value within_range(Emission& e, const Value& steps) {
  return clamped(e, steps, one(e, "quant_min", steps.dtype), one(e, "quant_max", steps.dtype));
}

// ---- By ONNX's operators

struct Grid {
  Value scale, zero_point;  // the latter may be absent
  std::optional<std::int64_t> axis{}, block{};
};

Arguments attributes_of(const Grid& grid) {
  Arguments made;
  if (grid.axis) made.push_back({"axis", *grid.axis});
  if (grid.block) made.push_back({"block_size", *grid.block});
  return made;
}

Grid grid_of(Emission& e, DType stored) {
  if (!e.call.has("axis")) return {one(e, "scale", DType::f32), one(e, "zero_point", stored)};
  const Value zero_points = e.optional_tensor("zero_points");
  return {e.tensor("scales", DType::f32), zero_points ? e.cast(zero_points, stored) : zero_points, e.axis("axis", "input")};
}

// The floats whose steps are the least and the greatest integer.
Value kept_in_range(Emission& e, const Value& input, const Grid& grid) {
  const auto bound = [&](std::string_view argument) {
    const auto scale = e.call.number("scale"), number = e.call.number(argument);
    const auto zero_point = e.call.integer("zero_point");
    if (scale && number && zero_point) return e.scalar(DType::f32, (*number - static_cast<double>(*zero_point)) * *scale);
    const Value steps = e.node("Sub", {one(e, argument, DType::f32), e.cast(grid.zero_point, DType::f32)});
    const Value floats = e.node("Mul", {steps, grid.scale});
    return grid.axis ? along_axis(e, floats) : floats;
  };
  return e.node("Min", {e.node("Max", {input, bound("quant_min")}), bound("quant_max")});
}

void quantize_decomposed(Emission& e) {
  const DType stored = e.output_dtype();
  Value input = e.tensor("input", DType::f32);
  if (e.variant("operator") || e.variant("clamped")) {
    const Grid grid = grid_of(e, stored);
    if (e.variant("clamped")) input = kept_in_range(e, input, grid);
    return e.give(e.node("QuantizeLinear", {input, grid.scale, grid.zero_point}, attributes_of(grid)));
  }
  if (e.call.has("axis")) {
    const Value steps = e.node("Round", {promoted_product(e, input, along_axis(e, one_over(e, e.tensor("scales"))))});
    return e.give(e.cast(within_range(e, promoted_sum(e, steps, along_axis(e, e.tensor("zero_points")))), stored));
  }
  const auto scale = e.call.number("scale");  // the inverse is computed in double precision
  const Value by = scale ? e.scalar(DType::f32, 1.0 / *scale) : e.cast(one_over(e, one(e, "scale", DType::f64)), DType::f32);
  const Value steps = e.node("Round", {e.node("Mul", {input, by})});
  e.give(e.cast(within_range(e, e.node("Add", {steps, one(e, "zero_point", DType::f32)})), stored));
}

// (input.to(out) - zero_point) * scale, where numbers count as single precision in steps of half precision.
Value dequantized_by_numbers(Emission& e, DType out) {
  const DType in_steps = out == DType::f64 ? DType::f64 : DType::f32;
  const auto kept = [&](const Value& value) { return e.cast(e.cast(value, out), in_steps); };
  const Value above = e.node("Sub", {kept(e.tensor("input")), one(e, "zero_point", in_steps)});
  return e.node("Mul", {kept(above), one(e, "scale", in_steps)});
}

void dequantize_decomposed(Emission& e) {
  const Value input = e.tensor("input");
  const bool wide = input.dtype == DType::i32;  // ONNX has no zero point for it
  const Value zero_point = !e.call.has("axis") ? one(e, "zero_point", DType::i64) : e.optional_tensor("zero_points");
  if (e.variant("operator") && (!wide || !zero_point || known_zero(e, zero_point))) {
    Grid grid = grid_of(e, input.dtype);
    if (wide) grid.zero_point = {};
    Values inputs{input, grid.scale};
    if (grid.zero_point) inputs.push_back(grid.zero_point);
    return e.give(e.node("DequantizeLinear", inputs, attributes_of(grid), DType::f32));
  }
  if (!e.call.has("axis")) return e.give(dequantized_by_numbers(e, e.output_dtype()));
  const Value above = zero_point ? promoted_difference(e, input, along_axis(e, zero_point)) : input;
  e.give(promoted_product(e, above, along_axis(e, e.tensor("scales"))));
}

// ---- For each row, and for each group of a row: the zero point is added before rounding

Value quantized_in_steps(Emission& e, const Value& input, const Value& scales, const Value& zero_points) {
  const Value steps = promoted_sum(e, promoted_product(e, input, one_over(e, scales)), zero_points);
  return e.cast(within_range(e, e.node("Round", {steps})), e.output_dtype());
}

void quantize_per_token(Emission& e) {
  e.give(quantized_in_steps(e, e.tensor("input"), e.tensor("scales"), e.tensor("zero_points")));
}

void dequantize_per_token(Emission& e) {
  e.give(promoted_product(e, promoted_difference(e, e.tensor("input"), e.tensor("zero_points")), e.tensor("scales")));
}

// One that is wider than the row is the row's length, if there is one scale a row.
std::int64_t group_size(Emission& e) {
  const std::int64_t size = e.integer("group_size");
  return e.known_size("scales", -1) == 1 ? std::min(size, e.known_size("input", 1)) : size;
}

Value in_groups(Emission& e, const Value& value, std::int64_t size) { return e.build.reshape(value, {-1, size}); }

void quantize_per_group(Emission& e) {
  const Value rows = in_groups(e, e.tensor("input"), group_size(e));
  const Value made = quantized_in_steps(e, rows, in_groups(e, e.tensor("scales"), 1), in_groups(e, e.tensor("zero_points"), 1));
  e.give(e.build.reshape(made, {-1, e.known_size("input", 1)}));
}

void dequantize_per_group(Emission& e) {
  const std::int64_t size = group_size(e), width = e.known_size("input", 1);
  const Value input = e.tensor("input"), zero_points = e.optional_tensor("zero_points");
  if (e.variant("operator")) {
    const Ints per_block{-1, width / size};
    Values inputs{input, e.build.reshape(e.tensor("scales", DType::f32), per_block)};
    if (zero_points) inputs.push_back(e.build.reshape(e.cast(zero_points, input.dtype), per_block));
    return e.give(e.node("DequantizeLinear", inputs, {{"axis", 1}, {"block_size", size}}, DType::f32));
  }
  const Value rows = in_groups(e, input, size);
  const Value above = zero_points ? promoted_difference(e, rows, in_groups(e, zero_points, 1)) : rows;
  e.give(e.build.reshape(promoted_product(e, above, in_groups(e, e.tensor("scales"), 1)), {-1, width}));
}

void fake_quantize_decomposed(Emission& e) {
  const Value input = e.tensor("input", DType::f32), scales = e.tensor("scales", DType::f32);
  const Value zero_points = e.cast(e.tensor("zero_points"), DType::i32);
  if (e.variant("operator")) {
    const DType stored = e.number("quant_min") < 0 ? DType::i8 : DType::u8;
    const Arguments axis{{"axis", e.axis("axis", "input")}};
    const Value zero = e.cast(zero_points, stored);
    return e.give(
        e.node("DequantizeLinear", {e.node("QuantizeLinear", {input, scales, zero}, axis), scales, zero}, axis, DType::f32));
  }
  const Value scale = along_axis(e, scales), zero = along_axis(e, e.cast(zero_points, DType::f32));
  const Value steps = e.node("Add", {e.node("Round", {e.node("Mul", {input, one_over(e, scale)})}), zero});
  e.give(e.node("Mul", {e.node("Sub", {within_range(e, steps), zero}), scale}));
}

// ---- Scales and zero points of what a tensor holds

// Half precision is computed in single precision, and each result rounded.
struct Extent {
  Value least, greatest;  // 0 is between them
  DType dtype;

  Value step(Emission& e, const Value& value) const { return rounded(e, value, dtype); }
};

Extent extent_of(Emission& e, const Ints& axes, bool keep) {
  const Value input = e.tensor("input");
  const auto with_zero = [&](Extreme which) { return widened(e, extreme(e, which, input, axes, keep)); };
  const Value least = with_zero(Extreme::least), greatest = with_zero(Extreme::greatest), zero = e.scalar(least.dtype, 0.0);
  return {minimum(e, least, zero), maximum(e, greatest, zero), input.dtype};
}

// `eps` is a tensor of single precision with a dimension, so the bounded result is one, too.
Value at_least_eps(Emission& e, const Value& scale) {
  return maximum(e, scale, e.build.reshape(e.number_value("eps", DType::f32), {1}));
}

// Source: determine_qparams in torch/ao/quantization/utils.py.
void choose(Emission& e) {
  const std::int64_t least = e.integer("quant_min"), greatest = e.integer("quant_max");
  const Extent extent = extent_of(e, all_axes(e.rank("input")), false);
  const Value range = extent.step(e, subtract(e, extent.greatest, extent.least));
  const Value scale = at_least_eps(e, extent.step(e, divide(e, range, e.scalar(range.dtype, greatest - least))));
  const Value from_least = e.cast(e.node("Round", {divide(e, extent.least, scale)}), DType::i64);
  const Value bound = e.scalar(DType::i64, least);
  e.give(0, scale);
  e.give(1, clamped(e, subtract(e, bound, from_least), bound, e.scalar(DType::i64, greatest)));
}

void choose_symmetric(Emission& e) {
  const Extent extent = extent_of(e, all_axes(e.rank("input")), false);
  const Value reach = maximum(e, negated(e, extent.least), extent.greatest);
  const Value steps = e.scalar(reach.dtype, (e.number("quant_max") - e.number("quant_min")) / 2);
  e.give(0, at_least_eps(e, extent.step(e, divide(e, reach, steps))));
  e.give(1, e.integers({e.call.dtype("dtype") == DType::u8 ? 128 : 0}));
}

// The last one; a single number is its own extent.
Ints token_axes(const Emission& e) { return e.rank("input") == 0 ? Ints{} : Ints{e.rank("input") - 1}; }

void choose_symmetric_per_token(Emission& e) {
  const DType dtype = e.output_dtype();
  const Value reach = widened(e, extreme(e, Extreme::greatest, absolute(e, e.tensor("input")), token_axes(e), true));
  const Value bounded = maximum(e, reach, rounded(e, e.scalar(reach.dtype, 1e-5), dtype));
  e.give(0, divide(e, bounded, e.scalar(reach.dtype, 127.0)));
  e.give(1, filled_like(e, reach, dtype, 0));
}

// Source: XNNPACK's choice, as PyTorch repeats it.
void choose_asymmetric_per_token(Emission& e) {
  const Extent extent = extent_of(e, token_axes(e), true);
  const auto step = [&](const Value& value) { return extent.step(e, value); };
  const auto number = [&](double value) { return e.scalar(extent.least.dtype, value); };
  const Value eps = number(std::numeric_limits<float>::epsilon()), least = number(-128), greatest = number(127);
  const Value range = step(subtract(e, extent.greatest, extent.least));
  const Value scales = maximum(e, step(divide(e, range, number(255))), eps);
  const Value below = step(divide(e, extent.least, scales)), above = step(divide(e, extent.greatest, scales));
  const Value error = step(add(e, step(add(e, least, below)), step(add(e, greatest, above))));
  const Value from_least = step(subtract(e, least, below)), from_greatest = step(subtract(e, greatest, above));
  const Value zero_points = where(e, e.node("Greater", {error, number(0)}), from_least, from_greatest);
  e.give(0, scales);
  e.give(1, e.node("Round", {clamped(e, zero_points, least, greatest)}));
}

}  // namespace

void register_quantized_decomposed(Registry& registry) {
  for (const char* op : {"quantized_decomposed::quantize_per_tensor", "quantized_decomposed::quantize_per_channel"})
    registry.handler(op, quantize_decomposed, {"clamped", "operator"});
  for (const char* op : {"quantized_decomposed::dequantize_per_tensor", "quantized_decomposed::dequantize_per_channel"})
    registry.handler(op, dequantize_decomposed, {"operator"});
  registry.handler("quantized_decomposed::quantize_per_token", quantize_per_token);
  registry.handler("quantized_decomposed::dequantize_per_token", dequantize_per_token);
  registry.handler("quantized_decomposed::quantize_per_channel_group", quantize_per_group);
  registry.handler("quantized_decomposed::dequantize_per_channel_group", dequantize_per_group, {"operator"});
  registry.handler("quantized_decomposed::fake_quant_per_channel", fake_quantize_decomposed, {"operator"});
  registry.handler("quantized_decomposed::choose_qparams", choose);
  registry.handler("quantized_decomposed::choose_qparams_symmetric", choose_symmetric);
  registry.handler("quantized_decomposed::choose_qparams_per_token", choose_symmetric_per_token);
  for (const char* op : {"quantized_decomposed::choose_qparams_per_token_asymmetric",
                         "quantized_decomposed::_choose_qparams_per_token_asymmetric_impl"})
    registry.handler(op, choose_asymmetric_per_token);
}

}  // namespace compatcheck::handlers

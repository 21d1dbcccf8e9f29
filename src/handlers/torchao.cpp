// torchao's quantization in blocks. Source: torchao/quantization/quant_primitives.py.
#include "symbolic/torchao.h"

#include <algorithm>
#include <limits>

#include "handlers/compute.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

using symbolic::Blocks;

Blocks blocks_of(Emission& e) {
  auto blocks = symbolic::blocks_of(e.call);
  if (!blocks) e.want("input", "the number of blocks");
  return *std::move(blocks);
}

// A size of 1 in each dimension within a block.
Shape outside_of(const Blocks& blocks) {
  Shape shape = blocks.parted;
  for (const std::int64_t axis : blocks.inner) shape[static_cast<std::size_t>(axis)] = Dim(1);
  return shape;
}

Value for_blocks(Emission& e, const Blocks& blocks, std::string_view argument) {
  return e.reshape(e.tensor(argument), e.shape(argument), outside_of(blocks));
}

// Computes in the dtype to which PyTorch promotes both; halves in single precision, and each result rounded.
Value in_promoted(Emission& e, BinaryFunction compute, const Value& a, const Value& b) {
  const auto dtype = symbolic::promote_types(a.dtype, b.dtype);
  if (!dtype) throw Refusal{"PyTorch doesn't compute with these dtypes together"};
  return e.cast(compute(e, widened(e, e.cast(a, *dtype)), widened(e, e.cast(b, *dtype))), *dtype);
}

struct Bounds {
  double least, greatest;
};

// The stated bounds, or those of the integers' dtype.
Bounds bounds_of(Emission& e, std::string_view dtype_argument) {
  const auto dtype = e.call.dtype(dtype_argument);
  const auto limits = [&]() -> Bounds {
    switch (dtype.value_or(DType::boolean)) {
      case DType::u8: return {0, 255};
      case DType::i8: return {-128, 127};
      case DType::i16: return {-32768, 32767};
      case DType::i32: return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
      default: throw Refusal{"this dtype of quantized integers isn't supported", "quantize to int8 or uint8"};
    }
  }();
  return {e.number("quant_min", limits.least), e.number("quant_max", limits.greatest)};
}

void quantize_blocks(Emission& e) {
  const Blocks blocks = blocks_of(e);
  const Bounds bounds = bounds_of(e, "output_dtype");
  const Value input = e.reshape(e.tensor("input"), e.shape("input"), blocks.parted);
  const Value scale = for_blocks(e, blocks, "scale"), by = e.cast(one_over(e, widened(e, scale)), scale.dtype);
  const Value products = in_promoted(e, multiply, input, by);
  const Value rounded_steps = e.cast(e.node("Round", {widened(e, products)}), products.dtype);
  const Value steps = widened(e, in_promoted(e, add, rounded_steps, for_blocks(e, blocks, "zero_point")));
  const Value kept = clamped(e, steps, e.scalar(steps.dtype, bounds.least), e.scalar(steps.dtype, bounds.greatest));
  e.give(e.reshape(e.cast(kept, e.output_dtype()), blocks.parted, e.shape("input")));
}

// The axis along which blocks count, and their size there; 0 if they are single elements.
struct BlockAxis {
  std::int64_t axis, block;
};

// How DequantizeLinear has these blocks: one for all elements (an axis of -1), one for each place of an axis, or several along
// one.
std::optional<BlockAxis> axis_of(const Emission& e, const Blocks& blocks) {
  std::optional<BlockAxis> single, several;
  bool whole = false;
  for (std::size_t i = 0; i < blocks.sizes.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (blocks.numbers[i].number() == 1)
      whole = whole || blocks.sizes[i] != 1;
    else if (blocks.sizes[i] > 1)
      several = several ? BlockAxis{-2, 0} : BlockAxis{at, blocks.sizes[i]};
    else
      single = single ? BlockAxis{-2, 0} : BlockAxis{at, 0};
  }
  if (several) return several->axis < 0 || whole || !e.call.rank("input") ? std::nullopt : several;
  if (single) return single->axis < 0 ? std::nullopt : single;
  return BlockAxis{-1, 0};
}

bool holds_zero_point(Emission& e, DType stored) {
  if (!e.given("zero_point")) return true;
  const Value zero_point = e.tensor("zero_point");
  if (zero_point.dtype == stored) return true;
  const onnx::TensorData* constant = e.constant_of(zero_point);
  if (!constant || constant->view || !ir::is_integral(zero_point.dtype)) return false;
  const auto numbers = onnx::as_floats(*constant);
  const double least = stored == DType::u8 ? 0 : -128;
  return numbers && std::ranges::all_of(*numbers, [&](double n) { return n >= least && n <= least + 255; });
}

bool is_by_operator(Emission& e, const Value& input, const std::optional<BlockAxis>& axis) {
  return axis && e.row_has("DequantizeLinear") &&
         e.at_least(axis->block > 0   ? 21
                    : axis->axis >= 0 ? 13
                                      : 10) &&
         (input.dtype == DType::i8 || input.dtype == DType::u8) && e.output_dtype() == DType::f32 &&
         e.dtype("scale") == DType::f32 && holds_zero_point(e, input.dtype);
}

void dequantize_blocks(Emission& e) {
  const Blocks blocks = blocks_of(e);
  const Value input = e.tensor("input");
  const auto axis = axis_of(e, blocks);
  if (is_by_operator(e, input, axis)) {
    const Shape numbers = axis->axis < 0     ? Shape{}
                          : axis->block == 0 ? Shape{blocks.numbers[static_cast<std::size_t>(axis->axis)]}
                                             : blocks.numbers;
    Values inputs{input, e.reshape(e.tensor("scale"), e.shape("scale"), numbers)};
    if (e.given("zero_point")) inputs.push_back(e.reshape(e.tensor("zero_point", input.dtype), e.shape("zero_point"), numbers));
    Arguments attributes;
    if (axis->axis >= 0) attributes.push_back({"axis", axis->axis});
    if (axis->block > 0) attributes.push_back({"block_size", axis->block});
    return e.give(e.node("DequantizeLinear", inputs, attributes, DType::f32));
  }
  const DType out = e.output_dtype();
  Value steps = e.cast(e.reshape(input, e.shape("input"), blocks.parted), out);
  if (e.given("zero_point")) steps = in_promoted(e, subtract, steps, e.cast(for_blocks(e, blocks, "zero_point"), out));
  const Value floats = e.cast(in_promoted(e, multiply, steps, for_blocks(e, blocks, "scale")), out);
  e.give(e.reshape(floats, blocks.parted, e.shape("input")));
}

void choose_for_blocks(Emission& e) {
  const Blocks blocks = blocks_of(e);
  const Bounds bounds = bounds_of(e, "target_dtype");
  const DType dtype = e.dtype("input");
  const bool keep = e.boolean("keepdim");
  const Value input = e.reshape(e.tensor("input"), e.shape("input"), blocks.parted);
  const auto step = [&](const Value& value) { return rounded(e, value, dtype); };
  const auto extent = [&](Extreme which) { return widened(e, extreme(e, which, input, blocks.inner, false)); };
  const Value found_least = extent(Extreme::least), found_greatest = extent(Extreme::greatest);
  const auto number = [&](double value) { return e.scalar(found_least.dtype, value); };
  const Value least = minimum(e, found_least, number(0)), greatest = maximum(e, found_greatest, number(0));
  const double smallest = dtype == DType::f16 ? 6.103515625e-05 : static_cast<double>(std::numeric_limits<float>::min());
  const Value eps = number(e.number("eps", smallest));
  const std::string mapping = e.string("mapping_type");
  Value scale, zero_point;
  if (mapping == "ASYMMETRIC") {
    scale = step(divide(e, step(subtract(e, greatest, least)), number(bounds.greatest - bounds.least)));
    scale = maximum(e, scale, step(eps));
    const Value from_least = step(e.node("Round", {step(divide(e, least, scale))}));
    zero_point = clamped(e, step(subtract(e, number(bounds.least), from_least)), number(bounds.least), number(bounds.greatest));
  } else {
    if (mapping == "SYMMETRIC") {
      scale = step(divide(e, maximum(e, negated(e, least), greatest), number((bounds.greatest - bounds.least) / 2)));
    } else {
      const Value below = step(divide(e, least, number(bounds.least))),
                  above = step(divide(e, greatest, number(bounds.greatest)));
      scale = where(e, greater(e, below, above), below, above);
    }
    scale = maximum(e, scale, step(eps));
    zero_point = filled_like(e, scale, scale.dtype, std::trunc((bounds.greatest + bounds.least + 1) / 2));
  }
  Shape reduced;
  for (std::size_t i = 0; i < blocks.numbers.size(); ++i)
    if (blocks.sizes[i] != 0) reduced.push_back(blocks.numbers[i]);
  const auto shaped = [&](const Value& value, DType as) {
    return keep ? e.reshape(e.cast(value, as), reduced, blocks.numbers) : e.cast(value, as);
  };
  if (e.output_used(0)) e.give(0, shaped(scale, e.output_dtype(0)));
  if (e.output_used(1)) e.give(1, shaped(zero_point, e.output_dtype(1)));
}

}  // namespace

void register_torchao(Registry& registry) {
  registry.handler("torchao::quantize_affine", quantize_blocks);
  registry.handler("torchao::dequantize_affine", dequantize_blocks);
  registry.handler("torchao::choose_qparams_affine", choose_for_blocks);
}

}  // namespace compatcheck::handlers

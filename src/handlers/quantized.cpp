#include "handlers/quantized.h"

#include <algorithm>

#include "handlers/elementary.h"
#include "handlers/families.h"
#include "ir/quantized.h"

namespace compatcheck::handlers {
namespace {

DType stored_in_8_bits(DType dtype) {
  if (ir::quantizes_to_8_bits(dtype)) return ir::stored_dtype(dtype);
  throw Refusal{"ONNX quantizes to 8 bits", "use torch.qint8 or torch.quint8"};
}

}  // namespace

const Quantized& quantized(const Emission& e, std::string_view argument) {
  if (const auto* tensor = std::get_if<Quantized>(&e.operand(argument).value)) return *tensor;
  throw Refusal{"'" + std::string(argument) + "' is no quantized tensor"};
}

bool known_zero(Emission& e, const Value& value) {
  const auto numbers = e.build.ints_of(value);
  return numbers && std::ranges::all_of(*numbers, [](std::int64_t n) { return n == 0; });
}

Value dequantized(Emission& e, const Quantized& tensor) {
  if (!tensor.axis) return e.node("DequantizeLinear", {tensor.integers, tensor.scale, tensor.zero_point}, {}, DType::f32);
  if (e.at_least(13) && tensor.zero_point.dtype == tensor.integers.dtype)
    return e.node("DequantizeLinear", {tensor.integers, tensor.scale, tensor.zero_point}, {{"axis", *tensor.axis}}, DType::f32);
  // A weight with a scale for each channel, before DequantizeLinear had an axis. The following is computed at conversion
  // unless the weight is large or strided.
  const onnx::TensorData* data = e.constant_of(tensor.integers);
  if (!data)
    throw Refusal{"a scale for each channel of a computed tensor needs the axis that DequantizeLinear has from opset 13 on",
                  "use opset 13"};
  Ints axes;
  for (std::int64_t axis = 1; axis < static_cast<std::int64_t>(data->dims.size()) - *tensor.axis; ++axis) axes.push_back(axis);
  const auto marked = e.build.plumbing();
  Value floats = e.cast(tensor.integers, DType::f32);
  if (!known_zero(e, tensor.zero_point))
    floats = e.node("Sub", {floats, e.build.unsqueeze(e.cast(tensor.zero_point, DType::f32), axes)});
  return e.node("Mul", {floats, e.build.unsqueeze(tensor.scale, axes)});
}

Value dequantized(Emission& e, std::string_view argument) { return dequantized(e, quantized(e, argument)); }

Quantized quantize(Emission& e, const Value& floats, double scale, std::int64_t zero_point, DType stored) {
  Quantized made{{}, e.scalar(DType::f32, scale), e.scalar(stored, zero_point), {}};
  made.integers = e.node("QuantizeLinear", {e.cast(floats, DType::f32), made.scale, made.zero_point});
  return made;
}

void give_quantized(Emission& e, const Value& floats, std::string_view scale, std::string_view zero_point) {
  e.give_operand(0, {quantize(e, floats, e.number(scale), e.integer(zero_point), stored_in_8_bits(e.output_dtype()))});
}

Operand packed_part(Emission& e, const Operand& packed, std::string_view name) {
  const auto* object = std::get_if<Object>(&packed.value);
  if (!object) throw Refusal{"packed parameters aren't known while converting"};
  for (std::size_t i = 0; i < object->type->attributes.size() && i < object->object->attributes.size(); ++i)
    if (object->type->attributes[i].name == name) return operand_of(object->object->attributes[i], object->program, e.build);
  return {None{}};
}

Ints packed_ints(Emission& e, const Operand& packed, std::string_view name) {
  const Operand part = packed_part(e, packed, name);
  Ints made;
  const auto add = [&](const Operand& item) {
    const Number* number = item.number();
    if (!number) throw Refusal{"packed parameters lack their " + std::string(name)};
    if (const auto* integer = std::get_if<std::int64_t>(&number->value))
      made.push_back(*integer);
    else if (const auto* boolean = std::get_if<bool>(&number->value))
      made.push_back(*boolean);
  };
  if (const List* list = part.list())
    for (const Operand& item : list->items) add(item);
  else
    add(part);
  return made;
}

// The parts of a packed table are lists; the table is the first tensor.
Value quantized_rows(Emission& e, const Operand& packed, const Value& indices, std::int64_t rank) {
  const Operand tensors = packed_part(e, packed, "tensors");
  const List* list = tensors.list();
  const auto* table = list && !list->items.empty() ? std::get_if<Quantized>(&list->items.front().value) : nullptr;
  if (!table || table->axis != 0) throw Refusal{"the packed table isn't known while converting"};
  const auto of_rows = [&](const Value& numbers) { return e.build.unsqueeze(e.build.gather(numbers, indices, 0), {rank}); };
  const Value steps =
      e.node("Sub", {e.cast(e.build.gather(table->integers, indices, 0), DType::f32), of_rows(table->zero_point)});
  return e.node("Mul", {steps, of_rows(table->scale)});
}

PackedLinear packed_linear(Emission& e, const Operand& packed) {
  const Operand weight = packed_part(e, packed, "weight"), bias = packed_part(e, packed, "bias");
  PackedLinear layer{.steps = {}, .scale = {}, .bias = bias.is_none() ? Value{} : e.cast(e.as_tensor(bias, "bias"), DType::f32)};
  if (weight.tensor()) {
    layer.steps = e.cast(*weight.tensor(), DType::f32);
  } else if (const auto* integers = std::get_if<Quantized>(&weight.value); integers && integers->axis.value_or(0) == 0) {
    layer.steps = e.cast(integers->integers, DType::f32);
    layer.scale = integers->scale;
    if (!known_zero(e, integers->zero_point))
      layer.steps = e.node("Sub", {layer.steps, integers->axis ? e.build.unsqueeze(e.cast(integers->zero_point, DType::f32), {1})
                                                               : e.cast(integers->zero_point, DType::f32)});
  } else {
    throw Refusal{"packed parameters lack their weight"};
  }
  return layer;
}

namespace {

Value times_weight(Emission& e, const Value& input, const PackedLinear& layer, const Value& scale) {
  Value made = e.node("MatMul", {input, e.build.transpose(layer.steps, {1, 0})});
  if (layer.scale)
    made = e.node("Mul", {made, scale ? e.node("Mul", {scale, layer.scale}) : layer.scale});
  else if (scale)
    made = e.node("Mul", {made, scale});
  return layer.bias ? e.node("Add", {made, layer.bias}) : made;
}

}  // namespace

Value linear_on_floats(Emission& e, const Value& input, const PackedLinear& layer) { return times_weight(e, input, layer, {}); }

Value linear_on_rounded(Emission& e, const Value& input, const PackedLinear& layer, bool reduce_range) {
  const Rounded rounded = rounded_to_range(e, input, reduce_range);
  return times_weight(e, rounded.steps, layer, rounded.scale);
}

// Source: ChooseQuantizationParams in aten/src/ATen/native/quantized/cpu/QuantUtils.h of pytorch.
Rounded rounded_to_range(Emission& e, const Value& input, bool reduce_range) {
  const auto wide = [&](double number) { return e.scalar(DType::f64, number); };
  const auto extreme = [&](const char* reduce, const char* with_zero) {
    return e.cast(e.node(with_zero, {e.node(reduce, {input}, {{"keepdims", 0}}), e.scalar(DType::f32, 0.0)}), DType::f64);
  };
  const Value least = extreme("ReduceMin", "Min"), greatest = extreme("ReduceMax", "Max");
  const double steps = reduce_range ? 127 : 255;
  const Value exact = e.node("Div", {e.node("Sub", {greatest, least}), wide(steps)});
  // No range at all is 0.1; a range too small for single precision is widened.
  constexpr double smallest = 6.1e-5F;
  const Value none = e.node("Equal", {e.cast(exact, DType::f32), e.scalar(DType::f32, 0.0)});
  const Value some = e.node("Where", {none, wide(0.1), exact});
  const Value scale = e.node("Max", {some, wide(smallest)});
  const Value widened = e.node("Div", {scale, some});
  const Value zero_point = e.node("Round", {e.node("Neg", {e.node("Div", {e.node("Mul", {least, widened}), scale})})});
  const Value by = e.cast(scale, DType::f32), zero = e.cast(e.node("Min", {zero_point, wide(steps)}), DType::f32);
  const Value inverse = e.node("Div", {e.scalar(DType::f32, 1.0), by});
  const Value shifted = e.node("Add", {e.node("Round", {e.node("Mul", {input, inverse})}), zero});
  const Value kept = e.node("Max", {e.node("Min", {shifted, e.scalar(DType::f32, 255.0)}), e.scalar(DType::f32, 0.0)});
  return {e.node("Sub", {kept, zero}), by};
}

namespace {

// ---- Into and out of quantized tensors

Value as_zero_point(Emission& e, const Value& value, DType stored) { return e.cast(value, stored); }

void quantize_per_tensor(Emission& e) {
  const DType stored = stored_in_8_bits(e.output_dtype());
  Quantized made{{}, e.number_value("scale", DType::f32), as_zero_point(e, e.number_value("zero_point", DType::i32), stored), {}};
  if (!e.call.fact("scale").number()) {
    made.scale = e.build.reshape(made.scale, {});
    made.zero_point = e.build.reshape(made.zero_point, {});
  }
  made.integers = e.node("QuantizeLinear", {e.tensor("self", DType::f32), made.scale, made.zero_point});
  e.give_operand(0, {made});
}

void quantize_per_channel(Emission& e) {
  const DType stored = stored_in_8_bits(e.output_dtype());
  const std::int64_t axis = e.axis("axis");
  Quantized made{{}, e.tensor("scales", DType::f32), as_zero_point(e, e.tensor("zero_points"), stored), axis};
  made.integers = e.node("QuantizeLinear", {e.tensor("self", DType::f32), made.scale, made.zero_point}, {{"axis", axis}});
  e.give_operand(0, {made});
}

void dequantize(Emission& e) {
  const std::string argument = e.call.node().schema()->arguments.front().name;
  const Operand& operand = e.operand(argument);
  const auto one = [&](const Operand& tensor) {
    const auto* integers = std::get_if<Quantized>(&tensor.value);
    return integers ? dequantized(e, *integers) : e.cast(e.as_tensor(tensor, argument), DType::f32);
  };
  if (!operand.list()) return e.give(one(operand));
  Values made;
  for (const Operand& item : operand.list()->items) made.push_back(one(item));
  e.give_list(0, made);
}

void int_repr(Emission& e) { e.give(quantized(e, "self").integers); }
void scale_of(Emission& e) {
  e.give(e.call.op() == "aten::q_scale" ? quantized(e, "self").scale : e.cast(quantized(e, "self").zero_point, DType::i64));
}

// ---- Fake quantization: floats in, floats out

struct Rounding {
  Value scale, zero_point;  // f32; of each channel with its axes behind
  double least = 0, greatest = 255;
  bool added_first = false;  // the zero point, before rounding, as PyTorch has it for one that is a float
  std::optional<std::int64_t> axis;
};

// ONNX's range is that of the integers; a narrower one is clamped to.
bool by_operator(const Emission& e) { return e.variant("quantized") || e.variant("clamped"); }

// Returns the steps as integers, before any bounds.
Value steps_of(Emission& e, const Value& input, const Rounding& r) {
  const Value steps = e.node("Mul", {input, e.node("Div", {e.scalar(DType::f32, 1.0), r.scale})});
  if (r.added_first) return e.node("Round", {e.node("Add", {steps, r.zero_point})});
  return e.node("Add", {e.node("Round", {steps}), r.zero_point});
}

Value bounded(Emission& e, const Value& steps, const Rounding& r) {
  return e.node("Max", {e.node("Min", {steps, e.scalar(steps.dtype, r.greatest)}), e.scalar(steps.dtype, r.least)});
}

// PyTorch compares floats, of channels integers, which f64 holds. NaN is outside.
Value within_bounds(Emission& e, const Value& steps, const Rounding& r) {
  const Value wide = e.cast(steps, r.axis ? DType::f64 : DType::f32);
  return e.node("Equal", {wide, bounded(e, wide, r)});
}

Value rounded_by_operator(Emission& e, const Value& input, const Rounding& r) {
  const bool unsigned_ = r.least >= 0;
  Value within = input;
  if (e.variant("clamped")) {
    const auto bound = [&](double number) {
      return e.node("Mul", {e.node("Sub", {e.scalar(DType::f32, number), r.zero_point}), r.scale});
    };
    within = e.node("Min", {e.node("Max", {within, bound(r.least)}), bound(r.greatest)});
  }
  const Value zero = e.cast(r.zero_point, unsigned_ ? DType::u8 : DType::i8);
  Arguments attributes;
  if (r.axis) attributes.push_back({"axis", *r.axis});
  return e.node("DequantizeLinear", {e.node("QuantizeLinear", {within, r.scale, zero}, attributes), r.scale, zero}, attributes,
                DType::f32);
}

// Absent where the switch is certainly on: a number, whose whole part PyTorch reads.
Value switch_of(Emission& e) {
  if (!e.call.has("fake_quant_enabled")) return {};
  const auto* tensor = e.call.tensor("fake_quant_enabled");
  if (tensor && tensor->contents && tensor->contents->size() == 1 && tensor->contents->front().number().value_or(0) != 0)
    return {};
  return e.build.reshape(e.cast(e.tensor("fake_quant_enabled", DType::i32), DType::boolean), {});
}

// The mask is the second result of some overloads.
void give_rounded(Emission& e, const Rounding& r) {
  const Value input = e.tensor("self", DType::f32), enabled = switch_of(e);
  const Value steps = by_operator(e) ? Value{} : steps_of(e, input, r);
  const Value made =
      steps ? e.node("Mul", {e.node("Sub", {bounded(e, steps, r), r.zero_point}), r.scale}) : rounded_by_operator(e, input, r);
  e.give(enabled ? where(e, enabled, e.cast(made, e.dtype("self")), e.tensor("self")) : made);
  if (e.results().size() < 2 || !e.output_used(1)) return;
  const Value mask = within_bounds(e, steps, r);
  e.give(1, enabled ? logical_or(e, mask, logical_not(e, enabled)) : mask);
}

void fake_quantize(Emission& e) {
  Rounding rounding{.scale = e.number_value("scale", DType::f32),
                    .zero_point = e.number_value("zero_point", DType::f32),
                    .least = e.number("quant_min"),
                    .greatest = e.number("quant_max"),
                    .added_first = false,
                    .axis = {}};
  if (!e.call.fact("scale").number()) {
    rounding.scale = e.build.reshape(rounding.scale, {});
    rounding.zero_point = e.build.reshape(rounding.zero_point, {});
  }
  give_rounded(e, rounding);
}

void fake_quantize_per_channel(Emission& e) {
  const std::int64_t axis = e.axis("axis"), behind = e.rank("self") - axis - 1;
  Rounding rounding{.scale = e.tensor("scale", DType::f32),
                    .zero_point = e.tensor("zero_point", DType::f32),
                    .least = e.number("quant_min"),
                    .greatest = e.number("quant_max"),
                    .added_first = ir::is_floating(e.dtype("zero_point")),
                    .axis = axis};
  if (!by_operator(e)) {
    Ints axes;
    for (std::int64_t i = 1; i <= behind; ++i) axes.push_back(i);
    rounding.scale = e.build.unsqueeze(rounding.scale, axes);
    rounding.zero_point = e.build.unsqueeze(rounding.zero_point, axes);
  }
  give_rounded(e, rounding);
}

}  // namespace

void register_quantized(Registry& registry) {
  registry.handler("aten::quantize_per_tensor", quantize_per_tensor);
  registry.handler("aten::quantize_per_channel", quantize_per_channel);
  registry.handler("aten::dequantize", dequantize);
  registry.handler("aten::int_repr", int_repr);
  registry.handler("aten::q_scale", scale_of);
  for (const char* op :
       {"aten::fake_quantize_per_tensor_affine", "aten::fake_quantize_per_tensor_affine.tensor_qparams",
        "aten::fake_quantize_per_tensor_affine_cachemask", "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"})
    registry.handler(op, fake_quantize, {"clamped", "quantized"});
  for (const char* op : {"aten::fake_quantize_per_channel_affine", "aten::fake_quantize_per_channel_affine_cachemask"})
    registry.handler(op, fake_quantize_per_channel, {"quantized"});
}

}  // namespace compatcheck::handlers

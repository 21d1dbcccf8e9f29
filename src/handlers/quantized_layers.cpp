// quantized:: operators: dequantized, computed as floats, quantized again.
#include <algorithm>
#include <numeric>

#include "handlers/convolution.h"
#include "handlers/families.h"
#include "handlers/pooling.h"
#include "handlers/quantized.h"
#include "symbolic/quantizer.h"

namespace compatcheck::handlers {
namespace {

bool names(const Emission& e, std::string_view word) { return e.call.op().find(word) != std::string_view::npos; }

// The name of the argument that holds the packed parameters.
std::string_view packed_name(const Emission& e) {
  for (const std::string_view name : {"W_prepack", "packed_weight", "weight"})
    if (e.call.has(name)) return name;
  throw Refusal{"the operator has no packed parameters"};
}

std::string_view first_name(const Emission& e) { return e.call.node().schema()->arguments.front().name; }

// The last argument of a kind: scales and zero points have several names.
std::string_view named_like(const Emission& e, std::string_view word) {
  std::string_view found;
  for (const auto& argument : e.call.node().schema()->arguments)
    if (argument.name.find(word) != std::string::npos) found = argument.name;
  return found;
}

void give_output(Emission& e, const Value& floats) {
  give_quantized(e, floats, named_like(e, "scale"), named_like(e, "zero_point"));
}

Value activated(Emission& e, const Value& value) {
  if (names(e, "leaky_relu")) return e.node("LeakyRelu", {value}, {{"alpha", e.number("negative_slope")}});
  if (names(e, "tanh")) return e.node("Tanh", {value});
  return names(e, "_relu") ? e.node("Relu", {value}) : value;
}

// ---- Two operands

// A number changes the scale or the zero point before it changes an integer.
void with_number(Emission& e) {
  const auto made = symbolic::with_number(e.call);
  if (!made) e.want("qa", "the scale, the zero point or the number added to it");
  Quantized result = quantized(e, "qa");
  const DType stored = result.integers.dtype;
  const Value before = result.zero_point;
  result.scale = e.scalar(DType::f32, made->quantizer.scale);
  result.zero_point = e.scalar(stored, made->quantizer.zero_point);
  const bool relu = names(e, "_relu");
  const auto rounded = [&](const Value& floats) {
    return e.node("QuantizeLinear", {floats, e.scalar(DType::f32, 1.0), result.zero_point});
  };
  const auto steps = [&] { return e.node("Sub", {e.cast(result.integers, DType::f32), e.cast(before, DType::f32)}); };
  using enum symbolic::WithNumber::Integers;
  switch (made->integers) {
    case same:
      if (!relu) break;
      result.integers =
          rounded(e.node("Relu", {e.node("Sub", {e.cast(result.integers, DType::f32), e.cast(result.zero_point, DType::f32)})}));
      break;
    case mirrored: {
      const Value mirror = e.node("Neg", {steps()});
      result.integers = rounded(relu ? e.node("Relu", {mirror}) : mirror);
      break;
    }
    case zero: result.integers = rounded(e.node("Mul", {steps(), e.scalar(DType::f32, 0.0)})); break;
    case moved: {
      Value sum = e.node("Add", {steps(), e.scalar(DType::f32, static_cast<double>(made->added))});
      if (relu) sum = e.node("Relu", {sum});
      const double factor = e.call.tensor("qa")->quantizer->scale / made->quantizer.scale;
      result.integers = rounded(e.node("Mul", {sum, e.scalar(DType::f32, factor)}));
      break;
    }
  }
  e.give_operand(0, {result});
}

template <char op>
void binary(Emission& e) {
  if (e.call.has("b")) return with_number(e);
  const Value a = dequantized(e, "qa"), b = dequantized(e, "qb");
  give_output(e, activated(e, e.node(op == '+' ? "Add" : op == '*' ? "Mul" : "MatMul", {a, b})));
}

void quantized_cat(Emission& e) {
  const List* list = e.operand("qx").list();
  if (!list || list->items.empty()) throw Refusal{"how many tensors 'qx' holds is known only when the model runs"};
  Values parts;
  for (const Operand& item : list->items) {
    const auto* tensor = std::get_if<Quantized>(&item.value);
    if (!tensor) throw Refusal{"a member of 'qx' is no quantized tensor"};
    parts.push_back(dequantized(e, *tensor));
  }
  const auto facts = e.call.list("qx");
  const auto* first = facts->front()->tensor();
  if (!first || !first->shape) e.want("qx", "the rank");
  const Value joined = activated(
      e, e.node("Concat", parts, {{"axis", e.wrap(e.integer("dim"), static_cast<std::int64_t>(first->shape->size()))}}));
  if (e.given("scale")) return give_output(e, joined);
  Quantized made = std::get<Quantized>(list->items.front().value);
  made.integers = e.node("QuantizeLinear", {joined, made.scale, made.zero_point});
  e.give_operand(0, {made});
}

// ---- Layers

void linear_quantized(Emission& e) {
  give_output(e, activated(e, linear_on_floats(e, dequantized(e, "X"), packed_linear(e, e.operand("W_prepack")))));
}

void linear_dynamic(Emission& e) {
  const PackedLinear layer = packed_linear(e, e.operand("W_prepack"));
  const Value input = e.tensor("X", DType::f32);
  e.give(activated(
      e, names(e, "fp16") ? linear_on_floats(e, input, layer) : linear_on_rounded(e, input, layer, e.boolean("reduce_range"))));
}

Value convolution(Emission& e, const Value& floats) {
  const Operand& packed = e.operand(packed_name(e));
  const Operand weight = packed_part(e, packed, "weight"), bias = packed_part(e, packed, "bias");
  const auto* integers = std::get_if<Quantized>(&weight.value);
  const onnx::TensorData* data = integers ? e.constant_of(integers->integers) : nullptr;
  if (!data) throw Refusal{"the packed weight isn't known while converting"};
  Convolution c;
  c.input = floats;
  // Before opset 13 a weight with a scale for each channel would be a constant of floats, which ONNX Runtime quantizes anew with
  // one scale.
  const bool scaled_after = integers->axis == 0 && !e.at_least(13) && known_zero(e, integers->zero_point);
  c.weight = dequantized(
      e, scaled_after ? Quantized{integers->integers, e.scalar(DType::f32, 1.0), e.scalar(integers->integers.dtype, 0), {}}
                      : *integers);
  const Value shift = bias.is_none() ? Value{} : e.cast(e.as_tensor(bias, "bias"), DType::f32);
  // ONNX Runtime rounds the bias of a Conv between quantized tensors, by Round, which came with opset 11; it fuses an Add as a
  // bias.
  const bool apart = shift && !e.at_least(11);
  if (!apart && !scaled_after) c.bias = shift;
  Ints dims = e.constant_of(integers->integers)->dims;
  Ints stride = packed_ints(e, packed, "stride"), padding = packed_ints(e, packed, "padding"),
       dilation = packed_ints(e, packed, "dilation"), output_padding = packed_ints(e, packed, "output_padding");
  if (names(e, "1d") && dims.size() == 4) {  // packed as of two dimensions, the first of size 1
    c.weight = e.build.squeeze(c.weight, {2});
    dims.erase(dims.begin() + 2);
    for (Ints* list : {&stride, &padding, &dilation, &output_padding})
      if (list->size() > 1) *list = {(*list)[1]};
  }
  if (dims.size() < 3 || e.shape(first_name(e)).size() != dims.size())
    throw Refusal{"a convolution takes an input and a weight of as many dimensions, at least 3"};
  const std::size_t count = dims.size() - 2;
  c.windows = {Ints(dims.begin() + 2, dims.end()), spread(stride, count), spread(padding, count), spread(padding, count),
               spread(dilation, count)};
  c.output_padding = output_padding.empty() ? Ints(count, 0) : spread(output_padding, count);
  c.groups = packed_ints(e, packed, "groups").at(0);
  c.transposed = packed_ints(e, packed, "transpose").at(0) != 0;
  c.input_shape = e.shape(first_name(e));
  for (const std::int64_t dim : dims) c.weight_shape.emplace_back(dim);
  Value made = convolve(e, c);
  Ints axes(count);
  std::iota(axes.begin(), axes.end(), 1);
  if (scaled_after) {
    made = e.node("Mul", {made, e.build.unsqueeze(integers->scale, axes)});
    return shift ? e.node("Add", {made, e.build.unsqueeze(shift, axes)}) : made;
  }
  if (!apart) return made;
  return e.node("Sub", {made, e.node("Neg", {e.build.unsqueeze(shift, axes)})});
}

void conv(Emission& e) {
  Value made = convolution(e, dequantized(e, first_name(e)));
  if (e.call.has("qaccum")) made = e.node("Add", {made, dequantized(e, "qaccum")});
  give_output(e, activated(e, made));
}

void conv_dynamic(Emission& e) {
  const Rounded input = rounded_to_range(e, e.tensor(first_name(e), DType::f32), e.boolean("reduce_range"));
  e.give(convolution(e, e.node("Mul", {input.steps, input.scale})));
}

// ---- Activations

void sigmoid(Emission& e) { give_output(e, e.node("Sigmoid", {dequantized(e, first_name(e))})); }
void quantized_leaky_relu(Emission& e) { give_output(e, activated(e, dequantized(e, first_name(e)))); }

void quantized_hardswish(Emission& e) {
  const Value x = dequantized(e, first_name(e));
  if (e.variant("operator")) return give_output(e, e.node("HardSwish", {x}));
  give_output(e, e.node("Mul", {x, e.node("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}})}));
}

// The same scale and zero point as before.
void give_as_before(Emission& e, const Value& floats) {
  Quantized made = quantized(e, first_name(e));
  made.integers = e.node("QuantizeLinear", {floats, made.scale, made.zero_point});
  e.give_operand(0, {made});
}

void quantized_clamp(Emission& e) {
  Value made = dequantized(e, first_name(e));
  const bool six = names(e, "relu6");
  if (six || e.given("min")) made = e.node("Max", {made, e.scalar(DType::f32, six ? 0.0 : e.number("min"))});
  if (six || e.given("max")) made = e.node("Min", {made, e.scalar(DType::f32, six ? 6.0 : e.number("max"))});
  give_as_before(e, made);
}

void quantized_max_pool(Emission& e) {
  const std::size_t dims = dims_of_name(e);
  const Quantized before = quantized(e, first_name(e));
  const bool batched = e.rank(first_name(e)) == static_cast<std::int64_t>(dims) + 2;
  Value input = dequantized(e, before);
  Shape shape = e.shape(first_name(e));
  if (!batched) input = e.build.unsqueeze(input, {0}), shape.insert(shape.begin(), Dim(1));
  const Shape spatial(shape.begin() + 2, shape.end());
  const Value made = max_pool(e, input, spatial, pool_windows(e, dims, spatial, first_name(e)), false).values;
  give_as_before(e, batched ? made : e.build.squeeze(made, {0}));
}

void quantized_elu(Emission& e) {
  const Value x = dequantized(e, "self");
  const auto times = [&](const Value& value, double factor) {
    return factor == 1 ? value : e.node("Mul", {value, e.scalar(DType::f32, factor)});
  };
  const Value below = times(e.node("Min", {x, e.scalar(DType::f32, 0.0)}), e.number("input_scale"));
  const Value bent = e.node("Elu", {below}, {{"alpha", e.number("alpha")}});
  give_quantized(e, times(e.node("Add", {e.node("Relu", {x}), bent}), e.number("scale")), "output_scale", "output_zero_point");
}

void quantized_celu(Emission& e) {
  const Value x = dequantized(e, "self"), alpha = e.scalar(DType::f32, e.number("alpha"));
  if (e.variant("operator")) return give_output(e, e.node("Celu", {x}, {{"alpha", e.number("alpha")}}));
  give_output(e, e.node("Mul", {e.node("Elu", {e.node("Div", {x, alpha})}, {{"alpha", 1.0}}), alpha}));
}

void quantized_prelu(Emission& e) {
  const auto* steps = std::get_if<Quantized>(&e.operand("weight").value);
  Value slope = steps ? dequantized(e, *steps) : e.tensor("weight", DType::f32);
  Ints behind;
  for (std::int64_t axis = 2; axis < e.rank("qx"); ++axis) behind.push_back(axis - 1);
  slope = e.build.unsqueeze(slope, behind);
  give_output(e, e.node("PRelu", {dequantized(e, "qx"), slope}));
}

void same_quantized(Emission& e) { e.give_operand(0, e.operand(first_name(e))); }

void quantized_softmax(Emission& e) {
  const std::int64_t rank = e.rank("qx"), axis = e.wrap(e.integer("dim"), rank);
  Value x = dequantized(e, "qx");
  if (e.at_least(13) || axis == rank - 1) return give_output(e, e.node("Softmax", {x}, {{"axis", axis}}));
  Ints order(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  x = e.node("Softmax", {e.build.transpose(x, order)}, {{"axis", rank - 1}});
  give_output(e, e.build.transpose(x, order));
}

}  // namespace

void register_quantized_layers(Registry& registry) {
  for (const char* op : {"quantized::add", "quantized::add_relu"}) registry.handler(op, binary<'+'>);
  for (const char* op : {"quantized::mul", "quantized::mul_relu"}) registry.handler(op, binary<'*'>);
  for (const char* op :
       {"quantized::add_scalar", "quantized::add_scalar_relu", "quantized::mul_scalar", "quantized::mul_scalar_relu"})
    registry.handler(op, with_number);
  registry.handler("quantized::matmul", binary<'@'>);
  for (const char* op : {"quantized::cat", "quantized::cat_relu"}) registry.handler(op, quantized_cat);
  for (const char* op : {"quantized::linear", "quantized::linear_relu", "quantized::linear_tanh", "quantized::linear_leaky_relu"})
    registry.handler(op, linear_quantized);
  for (const char* op : {"quantized::linear_dynamic", "quantized::linear_relu_dynamic", "quantized::linear_dynamic_fp16",
                         "quantized::linear_relu_dynamic_fp16"})
    registry.handler(op, linear_dynamic);
  for (const char* op :
       {"quantized::conv1d", "quantized::conv2d", "quantized::conv3d", "quantized::conv1d_relu", "quantized::conv2d_relu",
        "quantized::conv3d_relu", "quantized::conv_transpose1d", "quantized::conv2d_add", "quantized::conv2d_add_relu"})
    registry.handler(op, conv);
  for (const char* op : {"quantized::conv1d_dynamic", "quantized::conv_transpose1d_dynamic"}) registry.handler(op, conv_dynamic);
  registry.handler("quantized::sigmoid", sigmoid);
  registry.handler("quantized::leaky_relu", quantized_leaky_relu);
  registry.handler("quantized::hardswish", quantized_hardswish, {"operator"});
  for (const char* op : {"quantized::relu6", "quantized::clamp"}) registry.handler(op, quantized_clamp);
  registry.handler("quantized::max_pool1d", quantized_max_pool);
  registry.handler("quantized::dropout", same_quantized);
  registry.handler("quantized::softmax", quantized_softmax);
  registry.handler("quantized::elu", quantized_elu);
  registry.handler("quantized::celu", quantized_celu, {"operator"});
  registry.handler("quantized::prelu", quantized_prelu);
  registry.handler("aten::quantized_max_pool1d", quantized_max_pool);
}

}  // namespace compatcheck::handlers

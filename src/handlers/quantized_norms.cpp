// Normalisations of quantized tensors.
#include <numeric>

#include "handlers/families.h"
#include "handlers/quantized.h"

namespace compatcheck::handlers {
namespace {

void give_normalized(Emission& e, const Value& floats) { give_quantized(e, floats, "output_scale", "output_zero_point"); }

// An argument of `count` numbers, or as many of `otherwise`.
Value or_filled(Emission& e, std::string_view argument, std::int64_t count, double otherwise) {
  if (e.given(argument)) return e.tensor(argument, DType::f32);
  return e.build.constant(onnx::make_tensor(DType::f32, {count}, Doubles(static_cast<std::size_t>(count), otherwise)));
}

Value scaled_and_shifted(Emission& e, Value normal, const Ints& behind) {
  if (e.given("weight")) normal = e.node("Mul", {normal, e.build.unsqueeze(e.tensor("weight", DType::f32), behind)});
  if (e.given("bias")) normal = e.node("Add", {normal, e.build.unsqueeze(e.tensor("bias", DType::f32), behind)});
  return normal;
}

void quantized_layer_norm(Emission& e) {
  const Value x = dequantized(e, "input");
  const std::int64_t rank = e.rank("input"), first = rank - static_cast<std::int64_t>(e.ints("normalized_shape").size());
  const double epsilon = e.number("eps");
  if (e.variant("operator"))
    return give_normalized(e, e.node("LayerNormalization", {x, e.tensor("weight"), e.optional_tensor("bias")},
                                     {{"axis", first}, {"epsilon", epsilon}}));
  Ints axes(static_cast<std::size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  const auto mean = [&](const Value& value) { return e.node("ReduceMean", {value}, {{"axes", axes}, {"keepdims", 1}}); };
  const Value centred = e.node("Sub", {x, mean(x)});
  const Value deviation =
      e.node("Sqrt", {e.node("Add", {mean(e.node("Mul", {centred, centred})), e.scalar(DType::f32, epsilon)})});
  give_normalized(e, scaled_and_shifted(e, e.node("Div", {centred, deviation}), {}));
}

void quantized_instance_norm(Emission& e) {
  const std::int64_t channels = e.known_size("input", 1);
  give_normalized(e, e.node("InstanceNormalization",
                            {dequantized(e, "input"), or_filled(e, "weight", channels, 1), or_filled(e, "bias", channels, 0)},
                            {{"epsilon", e.number("eps")}}));
}

void quantized_group_norm(Emission& e) {
  const std::int64_t groups = e.integer("num_groups");
  const Shape& shape = e.shape("input");
  const auto filled = [&](double number) {
    return e.build.constant(onnx::make_tensor(DType::f32, {groups}, Doubles(static_cast<std::size_t>(groups), number)));
  };
  const Value x = dequantized(e, "input"), parted = e.build.reshape(x, {0, groups, -1});
  const Value normal = e.node("InstanceNormalization", {parted, filled(1), filled(0)}, {{"epsilon", e.number("eps")}});
  Ints behind;
  for (std::int64_t axis = 2; axis < static_cast<std::int64_t>(shape.size()); ++axis) behind.push_back(axis - 1);
  give_normalized(e, scaled_and_shifted(e, e.build.reshape_by(normal, e.node("Shape", {x})), behind));
}

void quantized_batch_norm(Emission& e) {
  const std::int64_t channels = e.known_size("mean", 0);
  const Value made = e.node("BatchNormalization",
                            {dequantized(e, "qx"), or_filled(e, "weight", channels, 1), or_filled(e, "bias", channels, 0),
                             e.tensor("mean", DType::f32), e.tensor("var", DType::f32)},
                            {{"epsilon", e.number("eps")}});
  give_normalized(e, e.call.op().ends_with("_relu") ? e.node("Relu", {made}) : made);
}

}  // namespace

void register_quantized_norms(Registry& registry) {
  registry.handler("quantized::layer_norm", quantized_layer_norm, {"operator"});
  registry.handler("quantized::instance_norm", quantized_instance_norm);
  registry.handler("quantized::group_norm", quantized_group_norm);
  registry.handler("quantized::batch_norm", quantized_batch_norm);
  registry.handler("quantized::batch_norm_relu", quantized_batch_norm);
}

}  // namespace compatcheck::handlers

// Activations that no plain row can express. Softmax and dropout have files of their own.
#include <cmath>
#include <numbers>

#include "handlers/double_forms.h"
#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

Value self(Emission& e) { return e.tensor("self"); }

void silu(Emission& e) {
  const Value x = self(e);
  e.give(multiply(e, x, node(e, "Sigmoid", x)));
}

void relu(Emission& e) {
  const Value x = self(e);
  if (ir::is_floating(x.dtype)) return e.give(node(e, "Relu", x));
  const Value zero = constant(e, x, 0);
  e.give(e.at_least(12) ? maximum(e, x, zero) : multiply(e, x, e.cast(greater(e, x, zero), x.dtype)));
}

void relu6(Emission& e) {
  const Value x = self(e);
  e.give(clamped(e, x, constant(e, x, 0), constant(e, x, 6)));
}

void hardtanh(Emission& e) {
  const Value x = self(e);
  e.give(clamped(e, x, e.number_value("min_val", x.dtype), e.number_value("max_val", x.dtype)));
}

// The slope where x isn't positive; ONNX Runtime's PRelu is of f32 alone.
Value with_slope(Emission& e, const Value& x, const Value& slope) {
  if (x.dtype != DType::f64) return e.node("PRelu", {x, slope});
  return add(e, node(e, "Relu", x), multiply(e, slope, negative_part(e, x)));
}

// The weight, of one element or one a channel, along dimension 1.
void prelu(Emission& e) {
  const Value x = self(e);
  Value slope = e.tensor("weight");
  const std::int64_t rank = e.rank("self");
  const auto size = e.rank("weight") == 0 ? std::optional<std::int64_t>(1) : e.size("weight", 0);
  if (size == 1 || rank < 2)
    slope = e.build.reshape(slope, Ints(rank < 2 ? static_cast<std::size_t>(rank) : 1, 1));
  else {
    Ints dims(static_cast<std::size_t>(rank - 1), 1);
    dims[0] = -1;
    slope = e.build.reshape(slope, dims);
  }
  e.give(with_slope(e, x, slope));
}

// A slope that is known only at run time may be infinite: zeros of positive elements must not be multiplied by it.
void leaky_relu(Emission& e) {
  const Value x = self(e);
  if (e.call.number("negative_slope")) return e.give(leaky(e, x, e.number("negative_slope")));
  const Value slope = e.number_value("negative_slope", x.dtype);
  if (x.dtype != DType::f64) return e.give(e.node("PRelu", {x, slope}));
  e.give(where(e, greater(e, x, constant(e, x, 0)), x, multiply(e, x, slope)));
}

void prelu_kernel(Emission& e) { e.give(with_slope(e, self(e), e.tensor("weight"))); }

// A random slope in training, the middle one otherwise.
void rrelu(Emission& e) {
  const Value x = self(e);
  const double lower = e.number("lower"), upper = e.number("upper");
  if (!e.boolean("training")) return e.give(leaky(e, x, (lower + upper) / 2));
  const DType drawn = x.dtype == DType::f64 ? DType::f64 : DType::f32;  // ONNX Runtime draws no halves
  const Value slope =
      e.node("RandomUniformLike", {x}, {{"low", lower}, {"high", upper}, {"dtype", onnx::data_type(drawn)}}, drawn);
  e.give(add(e, node(e, "Relu", x), multiply(e, e.cast(slope, x.dtype), negative_part(e, x))));
}

// scale · (max(x, 0) + alpha · (exp(min(x, 0) · input_scale) - 1))
void elu(Emission& e) {
  const Value x = self(e);
  if (e.given("alpha") && !e.call.number("alpha")) {
    if (e.number("scale", 1.0) != 1 || e.number("input_scale", 1.0) != 1) e.want("alpha", "the value");
    const Value bent = multiply(e, exponential_linear(e, x, 1), e.number_value("alpha", x.dtype));
    return e.give(where(e, greater(e, x, constant(e, x, 0)), x, bent));
  }
  const double alpha = e.number("alpha", 1.0), scale = e.number("scale", 1.0), input_scale = e.number("input_scale", 1.0);
  if (scale == 1 && input_scale == 1) return e.give(exponential_linear(e, x, alpha));
  const Value bent = exponential_linear(e, multiply(e, negative_part(e, x), constant(e, x, input_scale)), alpha);
  e.give(multiply(e, add(e, node(e, "Relu", x), bent), constant(e, x, scale)));
}

// alpha · elu(x / alpha) where x is negative; ONNX's function Celu is of f32 alone.
void celu(Emission& e) {
  const Value x = self(e);
  const double alpha = e.number("alpha");
  if (e.variant("operator")) return e.give(e.node("Celu", {x}, {{"alpha", alpha}}));
  const Value by = constant(e, x, alpha);
  e.give(multiply(e, exponential_linear(e, divide(e, x, by), 1), by));
}

void selu(Emission& e) {
  const Value x = self(e);
  if (x.dtype != DType::f64) return e.give(node(e, "Selu", x));
  e.give(multiply(e, exponential_linear(e, x, 1.6732632423543772848), constant(e, x, 1.0507009873554804934)));
}

void gelu(Emission& e) {
  const Value x = self(e);
  const bool tanh = e.string("approximate") == "tanh";
  if (e.variant("operator")) return e.give(e.node("Gelu", {x}, {{"approximate", tanh ? "tanh" : "none"}}));
  Value bent;
  if (tanh) {
    const Value cube = multiply(e, multiply(e, x, x), x);
    const Value inner = add(e, x, multiply(e, cube, constant(e, x, 0.044715)));
    bent = node(e, "Tanh", multiply(e, inner, constant(e, x, std::sqrt(2 / std::numbers::pi))));
  } else {
    bent = error_function(e, divide(e, x, constant(e, x, std::numbers::sqrt2)));
  }
  e.give(multiply(e, multiply(e, x, add(e, bent, constant(e, x, 1))), constant(e, x, 0.5)));
}

void glu(Emission& e) {
  Arguments arguments{{"axis", e.axis("dim")}};
  const Value x = self(e);
  if (const auto size = e.size("self", e.axis("dim"))) {
    arguments.push_back({"split", Ints(2, *size / 2)});
  } else if (e.opset_at_least(18)) {  // ONNX Runtime takes no number of outputs for a dimension without elements
    const Value half = quotient(e, size_at(e, x, e.axis("dim")), e.integers({2}));
    arguments.push_back({"split", e.build.concat({half, half}, 0)});
  }
  const Values halves = e.nodes("Split", {x}, 2, arguments);
  e.give(multiply(e, halves[0], node(e, "Sigmoid", halves[1])));
}

// ln(1 + exp(x)), which stays finite; ONNX Runtime's Softplus is of f32 alone.
Value softplus_of(Emission& e, const Value& x) {
  if (x.dtype != DType::f64) return node(e, "Softplus", x);
  const Value tail = node(e, "Log", add(e, node(e, "Exp", node(e, "Neg", node(e, "Abs", x))), constant(e, x, 1)));
  return add(e, node(e, "Relu", x), tail);
}

// -softplus(-x): stays finite where log(sigmoid(x)) doesn't.
void log_sigmoid(Emission& e) { e.give(node(e, "Neg", softplus_of(e, node(e, "Neg", self(e))))); }

void mish(Emission& e) {
  const Value x = self(e);
  if (e.variant("operator")) return e.give(node(e, "Mish", x));
  e.give(multiply(e, x, node(e, "Tanh", softplus_of(e, x))));
}

// Beyond the threshold the result is x itself: from 20 on the difference is below the precision of a float.
void softplus(Emission& e) {
  const Value x = self(e);
  const auto beta = e.call.number("beta"), threshold = e.call.number("threshold");  // none: known when the model runs
  const Value scaled = beta == 1 ? x : multiply(e, x, e.number_value("beta", x.dtype));
  Value made = softplus_of(e, scaled);
  if (beta != 1) made = divide(e, made, e.number_value("beta", x.dtype));
  if (!threshold || *threshold < 20) made = where(e, greater(e, scaled, e.number_value("threshold", x.dtype)), x, made);
  e.give(made);
}

Value hard_sigmoid(Emission& e, const Value& x) {
  if (x.dtype != DType::f64) return e.node("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
  return clamped(e, divide(e, add(e, x, constant(e, x, 3)), constant(e, x, 6)), constant(e, x, 0), constant(e, x, 1));
}

void hardsigmoid(Emission& e) { e.give(hard_sigmoid(e, self(e))); }

void hardswish(Emission& e) {
  const Value x = self(e);
  if (e.variant("operator")) return e.give(node(e, "HardSwish", x));
  e.give(multiply(e, x, hard_sigmoid(e, x)));
}

// 0 within lambda of 0; NaN stays.
void hardshrink(Emission& e) {
  const Value x = self(e), lambda = e.number_value("lambd", x.dtype);
  const Value inside = less_equal(e, absolute(e, x), lambda);
  if (e.at_least(9)) return e.give(where(e, inside, constant(e, x, 0), x));
  e.give(multiply(e, x, e.cast(logical_not(e, inside), x.dtype)));
}

// Nearer to 0 by lambda.
void softshrink(Emission& e) {
  const Value x = self(e);
  const double lambda = e.number("lambd");
  e.give(subtract(e, x, clamped(e, x, constant(e, x, -lambda), constant(e, x, lambda))));
}

void threshold(Emission& e) {
  const Value x = self(e);
  if (e.variant("relu")) return e.give(node(e, "Relu", x));
  e.give(where(e, less_equal(e, x, e.number_value("threshold", x.dtype)), e.number_value("value", x.dtype), x));
}

void tanhshrink(Emission& e) {
  const Value x = e.tensor("self", e.output_dtype());
  e.give(subtract(e, x, node(e, "Tanh", x)));
}

}  // namespace

void register_activation(Registry& registry) {
  registry.handler("aten::silu", silu);
  registry.handler("aten::relu", relu);
  registry.handler("aten::relu6", relu6);
  registry.handler("aten::hardtanh", hardtanh);
  registry.handler("aten::leaky_relu", leaky_relu);
  registry.handler("aten::prelu", prelu);
  registry.handler("aten::_prelu_kernel", prelu_kernel);
  for (const char* op : {"aten::rrelu", "aten::rrelu_with_noise_functional"}) registry.handler(op, rrelu);
  registry.handler("aten::elu", elu);
  registry.handler("aten::celu", celu, {"operator"});
  registry.handler("aten::selu", selu);
  registry.handler("aten::gelu", gelu, {"operator"});
  registry.handler("aten::glu", glu);
  for (const char* op : {"aten::log_sigmoid", "aten::log_sigmoid_forward"}) registry.handler(op, log_sigmoid);
  registry.handler("aten::mish", mish, {"operator"});
  registry.handler("aten::softplus", softplus);
  registry.handler("aten::hardsigmoid", hardsigmoid);
  registry.handler("aten::hardswish", hardswish, {"operator"});
  registry.handler("aten::hardshrink", hardshrink);
  registry.handler("aten::softshrink", softshrink);
  registry.handler("aten::threshold", threshold, {"relu"});
  registry.handler("aten::tanhshrink", tanhshrink);
}

}  // namespace compatcheck::handlers

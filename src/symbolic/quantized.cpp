// Quantized tensors and layers: facts.
#include "ir/quantized.h"

#include <algorithm>

#include "symbolic/convolution.h"
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/join.h"
#include "symbolic/pooling.h"
#include "symbolic/quantizer.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

// The first argument, whatever it is called.
TensorFact first(const Call& call) {
  const auto* tensor = first_tensor(call);
  return tensor ? *tensor : TensorFact{};
}

Fact with_dtype(const TensorFact& tensor, std::optional<DType> dtype) { return tensor_fact(dtype, tensor.shape); }

// A tensor, or each of a list.
Facts recast(const Call& call, std::optional<DType> dtype) {
  const auto* list = call.input(0).list();
  if (!list) return {with_dtype(first(call), dtype)};
  if (!list->items) return {list_of(tensor_fact(dtype, std::nullopt))};
  Facts items;
  for (const Fact& item : *list->items) items.push_back(with_dtype(item.tensor() ? *item.tensor() : TensorFact{}, dtype));
  return {list_fact(std::move(items))};
}

Facts quantize(const Call& call) { return recast(call, call.dtype("dtype")); }
Facts dequantize(const Call& call) { return recast(call, DType::f32); }

Facts int_repr(const Call& call) {
  const TensorFact self = first(call);
  const bool known = self.dtype && ir::integer_range(*self.dtype);
  return {with_dtype(self, known ? std::optional(ir::stored_dtype(*self.dtype)) : std::nullopt)};
}

Facts fake_quantized_with_mask(const Call& call) { return like_and(first(call), DType::boolean); }

Facts binary(const Call& call) {
  const TensorFact &a = tensor_of(call, "qa"), &b = tensor_of(call, "qb");
  return {tensor_fact(a.dtype, call.has("qb") ? broadcast(a.shape, b.shape) : a.shape)};
}

// The hidden state, of an LSTM the cell's too.
Facts quantized_cell(const Call& call) {
  const auto state = [](const TensorFact* tensor) { return tensor_fact(DType::f32, tensor ? tensor->shape : std::nullopt); };
  const auto states = call.list("hx");
  if (!states) return {state(call.tensor("hx"))};
  Facts made;
  for (const Fact* fact : *states) made.push_back(state(fact->tensor()));
  return made;
}

Facts quantized_cat(const Call& call) {
  const auto tensors = tensor_list(call, "qx");
  const auto dim = call.integer("dim");
  if (!tensors || tensors->empty()) return {tensor_fact(std::nullopt, std::nullopt)};
  return {tensor_fact(tensors->front().dtype, dim ? concatenated(*tensors, *dim) : std::nullopt)};
}

template <std::size_t dims>
Facts quantized_pool(const Call& call) {
  const TensorFact self = first(call);
  return {tensor_fact(self.dtype, pooled(call, self, dims))};
}

Facts quantized_matmul(const Call& call) {
  const TensorFact &a = tensor_of(call, "qa"), &b = tensor_of(call, "qb");
  if (!a.shape || !b.shape || a.shape->size() < 2 || b.shape->size() != a.shape->size())
    return {tensor_fact(a.dtype, std::nullopt)};
  Shape shape = *a.shape;
  shape.back() = b.shape->back();
  return {tensor_fact(a.dtype, std::move(shape))};
}

// A scale and a zero point for each position along `axis`.
Verdict channel_scales_fit(const Call& call) {
  Demands demands;
  const TensorFact self = first(call);
  const auto axis = call.integer("axis");
  const auto index = axis && self.shape && !self.shape->empty() ? wrap_dim(*axis, self.shape->size()) : std::nullopt;
  if (axis && self.shape && !index) demands.broken("the tensor has no dimension " + std::to_string(*axis));
  for (const char* numbers : {"scale", "zero_point", "scales", "zero_points"}) {
    if (!call.has(numbers) || call.is_none(numbers)) continue;
    demands.rank(call, numbers, 1, 1);
    if (index)
      demands.equal(size_at(tensor_of(call, numbers), 0), (*self.shape)[*index], "the length of " + std::string(numbers));
  }
  return demands.verdict();
}

// ---- quantized_decomposed: between plain integers and floats. Source: torch/ao/quantization/fx/_decomposed.py.

Facts dequantize_integers(const Call& call) {
  return recast(call, call.is_none("out_dtype") ? DType::f32 : call.dtype("out_dtype"));
}

// One scale and zero point for each row; they broadcast against the input.
Facts per_token(const Call& call) {
  auto shape = broadcast(tensor_of(call, "input").shape, tensor_of(call, "scales").shape);
  return {tensor_fact(call.dtype(call.has("output_dtype") ? "output_dtype" : "dtype"),
                      broadcast(shape, tensor_of(call, "zero_points").shape))};
}

// A scale for each group of a row. A group that is wider than the row is the row, where each row has one scale.
void demand_groups(const Call& call) {
  const auto &input = tensor_of(call, "input").shape, &scales = tensor_of(call, "scales").shape;
  auto size = call.dim("group_size");
  if (!input || input->size() != 2 || !scales || scales->empty() || !size) return;
  Demands demands;
  const Dim width = input->back();
  if (scales->back().number() == 1 && width.is_number() && size->is_number() && *width.number() < *size->number()) size = width;
  demands.multiple(width, *size, "the length of a row");
  for (const char* numbers : {"scales", "zero_points"})
    if (const TensorFact* tensor = call.fact(numbers).tensor(); tensor && tensor->shape)
      demands.equal(product(*tensor->shape) * *size, product(*input),
                    "the number of " + std::string(numbers) + " times group_size");
  demands.hold();
}

Facts per_group(const Call& call) {
  demand_groups(call);
  return recast(call, call.dtype(call.has("output_dtype") ? "output_dtype" : "dtype"));
}

Facts chosen(const Call&) { return {tensor_fact(DType::f64, Shape{Dim(1)}), tensor_fact(DType::i64, Shape{Dim(1)})}; }

Facts chosen_per_token(const Call& call, std::optional<DType> scale, std::optional<DType> zero_point) {
  std::optional<Shape> shape = tensor_of(call, "input").shape;
  if (shape && !shape->empty()) shape->back() = Dim(1);
  return {tensor_fact(scale, shape), tensor_fact(zero_point, shape)};
}

Facts chosen_symmetric_per_token(const Call& call) {
  const auto given = tensor_of(call, "input").dtype;
  const auto dtype = given == DType::f16 ? DType::f32 : given;
  return chosen_per_token(call, dtype, dtype);
}

Facts chosen_asymmetric_per_token(const Call& call) { return chosen_per_token(call, DType::f64, DType::i64); }

// ---- Conditions

struct Bounds {
  double least, greatest;
};

std::optional<Bounds> bounds_of(std::optional<DType> dtype) {
  if (!dtype) return std::nullopt;
  switch (*dtype) {
    case DType::u8: return Bounds{0, 255};
    case DType::i8: return Bounds{-128, 127};
    case DType::u16: return Bounds{0, 65535};
    case DType::i16: return Bounds{-32768, 32767};
    case DType::i32: return Bounds{-2147483648.0, 2147483647.0};
    case DType::f8e5m2: return Bounds{-57344, 57344};
    case DType::f8e4m3fn: return Bounds{-448, 448};
    default: return std::nullopt;
  }
}

Verdict verdict(bool holds, std::string_view otherwise) {
  return {.truth = holds ? Truth::yes : Truth::no, .message = holds ? "" : std::string(otherwise)};
}

// quant_min and quant_max are the limits of the dtype, so that ONNX saturates as PyTorch does.
Verdict whole_range(const Call& call) {
  const auto bounds = bounds_of(call.has("dtype") ? call.dtype("dtype") : std::nullopt);
  const bool whole =
      bounds && number_argument(call, "quant_min") == bounds->least && number_argument(call, "quant_max") == bounds->greatest;
  return verdict(whole, "quant_min and quant_max are narrower than the dtype, or aren't known");
}

// PyTorch refuses bounds that the dtype doesn't hold.
Verdict range_fits_dtype(const Call& call) {
  Demands demands;
  const auto dtype = call.dtype("dtype");
  const auto bounds = bounds_of(dtype);
  if (dtype && !bounds) demands.broken("PyTorch doesn't quantize to " + std::string(ir::name(*dtype)));
  const auto least = number_argument(call, "quant_min"), greatest = number_argument(call, "quant_max");
  if (bounds && ((least && *least < bounds->least) || (greatest && *greatest > bounds->greatest)))
    demands.broken("quant_min and quant_max must be within the range of " + std::string(ir::name(*dtype)));
  return demands.verdict();
}

// Integers that the dtype holds, as far as they are known: choose_qparams keeps those that it computes within the range.
Verdict zero_points_fit(const Call& call) {
  const auto bounds = bounds_of(call.dtype("dtype"));
  const auto fits = [&](std::int64_t n) {
    const auto number = static_cast<double>(n);
    return bounds && number >= bounds->least && number <= bounds->greatest;
  };
  const char* name = call.has("zero_points") ? "zero_points" : "zero_point";
  bool holds = bounds.has_value();
  if (const auto* tensor = call.fact(name).tensor())
    holds = holds && tensor->dtype && ir::is_integral(*tensor->dtype) &&
            (!tensor->contents ||
             std::ranges::all_of(*tensor->contents, [&](const Dim& dim) { return dim.number() && fits(*dim.number()); }));
  else if (const auto known = call.integer(name))
    holds = fits(*known);
  return verdict(holds, "a zero point is no integer that the dtype holds");
}

// One element stands for the whole tensor.
Verdict one_parameter(const Call& call) {
  Demands demands;
  for (const char* argument : {"scale", "zero_point", "quant_min", "quant_max"})
    if (const auto* tensor = call.tensor(argument); tensor && tensor->shape)
      demands.equal(product(*tensor->shape), Dim(1), "the number of elements of " + std::string(argument));
  return demands.verdict();
}

// ---- Layers, whose weight is packed

const TensorFact& packed_weight(const Call& call, const char* argument) {
  static const TensorFact unknown{};
  const auto* weight = part_of(call.fact(argument), "weight").tensor();
  return weight ? *weight : unknown;
}

// Dynamically quantized layers give floats.
std::optional<DType> layer_dtype(const Call& call, const TensorFact& input) {
  return call.op().find("_dynamic") != std::string_view::npos ? std::optional(DType::f32) : input.dtype;
}

Facts quantized_linear(const Call& call) {
  const TensorFact input = first(call);
  std::optional<Shape> shape = input.shape;
  if (shape && !shape->empty()) shape->back() = size_at(packed_weight(call, "W_prepack"), 0);
  return {tensor_fact(layer_dtype(call, input), std::move(shape))};
}

std::optional<std::vector<Dim>> numbers_of(const Fact& fact) {
  const auto* list = fact.list();
  if (!list || !list->items) return std::nullopt;
  std::vector<Dim> result;
  for (const Fact& item : *list->items) {
    const auto* number = item.number();
    result.push_back(number && number->integer ? *number->integer : Dim::unknown());
  }
  return result;
}

// Convolutions of one dimension are packed as of two, the first of size 1.
void drop_first_dimension(TensorFact& weight, Windows& windows) {
  weight.shape->erase(weight.shape->begin() + 2);
  for (auto* list : {&windows.stride, &windows.padding, &windows.dilation, &windows.output_padding})
    if (*list && (*list)->size() == 2) (*list)->erase((*list)->begin());
}

Facts quantized_convolution(const Call& call) {
  const TensorFact input = first(call);
  const char* argument = call.has("packed_weight") ? "packed_weight" : "weight";
  const Fact& packed = call.fact(argument);
  TensorFact weight = packed_weight(call, argument);
  const auto *groups = part_of(packed, "groups").number(), *transposed = part_of(packed, "transpose").number();
  const auto dtype = layer_dtype(call, input);
  if (!weight.shape || !groups || !groups->integer || !transposed || !transposed->integer)
    return {tensor_fact(dtype, std::nullopt)};
  Windows windows{.stride = numbers_of(part_of(packed, "stride")),
                  .padding = numbers_of(part_of(packed, "padding")),
                  .dilation = numbers_of(part_of(packed, "dilation")),
                  .output_padding = numbers_of(part_of(packed, "output_padding")),
                  .groups = *groups->integer,
                  .transposed = transposed->integer->number() != 0};
  if (call.op().find("1d") != std::string_view::npos && weight.shape->size() == 4) drop_first_dimension(weight, windows);
  return {tensor_fact(dtype, convolved(input, weight, windows))};
}

void register_decomposed(Registry& registry) {
  for (const char* op : {"quantized_decomposed::quantize_per_tensor", "quantized_decomposed::quantize_per_channel"})
    registry.facts(op, quantize);
  for (const char* op : {"quantized_decomposed::dequantize_per_tensor", "quantized_decomposed::dequantize_per_channel"})
    registry.facts(op, dequantize_integers);
  for (const char* op : {"quantized_decomposed::quantize_per_token", "quantized_decomposed::dequantize_per_token"})
    registry.facts(op, per_token);
  for (const char* op :
       {"quantized_decomposed::quantize_per_channel_group", "quantized_decomposed::dequantize_per_channel_group"})
    registry.facts(op, per_group);
  for (const char* op : {"quantized_decomposed::choose_qparams", "quantized_decomposed::choose_qparams_symmetric"})
    registry.facts(op, chosen);
  registry.facts("quantized_decomposed::choose_qparams_per_token", chosen_symmetric_per_token);
  for (const char* op : {"quantized_decomposed::choose_qparams_per_token_asymmetric",
                         "quantized_decomposed::_choose_qparams_per_token_asymmetric_impl"})
    registry.facts(op, chosen_asymmetric_per_token);
  registry.condition("whole_range", whole_range);
  registry.condition("range_fits_dtype", range_fits_dtype);
  registry.condition("zero_points_fit", zero_points_fit);
  registry.condition("one_parameter", one_parameter);
}

}  // namespace

void register_quantized(Registry& registry) {
  register_decomposed(registry);
  for (const char* op : {"aten::quantize_per_tensor", "aten::quantize_per_channel", "aten::quantize_per_tensor_dynamic"})
    registry.facts(op, quantize);
  registry.facts("aten::dequantize", dequantize);
  registry.facts("aten::int_repr", int_repr);
  for (const char* op : {"aten::fake_quantize_per_tensor_affine_cachemask", "aten::fake_quantize_per_channel_affine_cachemask",
                         "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"})
    registry.facts(op, fake_quantized_with_mask);
  registry.condition("channel_scales_fit", channel_scales_fit);
  for (const char* op :
       {"quantized::add", "quantized::add_relu", "quantized::mul", "quantized::mul_relu", "quantized::add_scalar",
        "quantized::add_scalar_relu", "quantized::mul_scalar", "quantized::mul_scalar_relu"})
    registry.facts(op, binary);
  for (const char* op : {"aten::quantized_max_pool1d", "quantized::max_pool1d"}) registry.facts(op, quantized_pool<1>);
  for (const char* op : {"aten::quantized_max_pool2d", "quantized::max_pool2d"}) registry.facts(op, quantized_pool<2>);
  registry.facts("quantized::matmul", quantized_matmul);
  for (const char* op : {"quantized::quantized_lstm_cell_dynamic", "quantized::quantized_gru_cell_dynamic",
                         "quantized::quantized_rnn_tanh_cell_dynamic", "quantized::quantized_rnn_relu_cell_dynamic"})
    registry.facts(op, quantized_cell);
  for (const char* op : {"quantized::cat", "quantized::cat_relu"}) registry.facts(op, quantized_cat);
  for (const char* op : {"quantized::linear", "quantized::linear_relu", "quantized::linear_dynamic",
                         "quantized::linear_relu_dynamic", "quantized::linear_dynamic_fp16",
                         "quantized::linear_relu_dynamic_fp16", "quantized::linear_leaky_relu", "quantized::linear_tanh"})
    registry.facts(op, quantized_linear);
  for (const char* op : {"quantized::conv2d_add", "quantized::conv2d_add_relu"}) registry.facts(op, quantized_convolution);
  for (const char* op :
       {"quantized::conv1d", "quantized::conv1d_dynamic", "quantized::conv1d_relu", "quantized::conv_transpose1d",
        "quantized::conv_transpose1d_dynamic", "quantized::conv2d", "quantized::conv2d_dynamic", "quantized::conv2d_relu",
        "quantized::conv_transpose2d", "quantized::conv_transpose2d_dynamic", "quantized::conv3d", "quantized::conv3d_dynamic",
        "quantized::conv3d_relu", "quantized::conv_transpose3d", "quantized::conv_transpose3d_dynamic"})
    registry.facts(op, quantized_convolution);
}

}  // namespace compatcheck::symbolic

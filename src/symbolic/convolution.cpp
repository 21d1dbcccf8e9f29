// Convolutions, and windows as columns (im2col, col2im): facts, and what PyTorch demands.
#include "symbolic/convolution.h"

#include <algorithm>

#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

Dim window_count(const Dim& size, const Dim& kernel, const Dim& stride, const Dim& padding, const Dim& dilation) {
  return floor_div(size + Dim(2) * padding - dilation * (kernel - Dim(1)) - Dim(1), stride) + Dim(1);
}

namespace {

Dim transposed_size(const Dim& size, const Dim& kernel, const Dim& stride, const Dim& padding, const Dim& dilation,
                    const Dim& extra) {
  return (size - Dim(1)) * stride - Dim(2) * padding + dilation * (kernel - Dim(1)) + extra + Dim(1);
}

}  // namespace

std::optional<Shape> convolved(const TensorFact& input, const TensorFact& weight, const Windows& windows) {
  if (!weight.shape || weight.shape->size() < 3) return std::nullopt;
  const Shape& kernel = *weight.shape;
  const std::size_t dims = kernel.size() - 2;
  if (!input.shape || input.shape->size() < dims + 1 || input.shape->size() > dims + 2) return std::nullopt;
  const Shape strides = sizes_of(windows.stride, dims), paddings = sizes_of(windows.padding, dims),
              dilations = sizes_of(windows.dilation, dims);
  const Shape extra = sizes_of(windows.output_padding, dims);
  Shape shape = *input.shape;
  const std::size_t first = shape.size() - dims;
  shape[first - 1] = windows.transposed ? kernel[1] * windows.groups : kernel[0];
  for (std::size_t i = 0; i < dims; ++i) {
    Dim& size = shape[first + i];
    size = windows.transposed ? transposed_size(size, kernel[i + 2], strides[i], paddings[i], dilations[i], extra[i])
                              : window_count(size, kernel[i + 2], strides[i], paddings[i], dilations[i]);
  }
  return shape;
}

namespace {

Windows windows_of(const Call& call) {
  return {.stride = call.dims("stride"),
          .padding = call.dims("padding"),
          .dilation = call.dims("dilation"),
          .output_padding = call.dims("output_padding"),
          .groups = call.dim("groups").value_or(Dim::unknown()),
          .transposed = false};
}

Fact result(const Call& call, std::optional<Shape> shape) { return tensor_fact(call.dtype_of("input"), std::move(shape)); }

// padding="valid" is none, "same" keeps the sizes at stride 1.
Facts named_padding(const Call& call, const std::string& padding) {
  const TensorFact &input = tensor_of(call, "input"), &weight = tensor_of(call, "weight");
  Windows windows = windows_of(call);
  windows.padding = std::vector<Dim>{Dim(0)};
  auto shape = convolved(input, weight, windows);
  if (!shape || padding == "valid") return {result(call, std::move(shape))};
  if (padding != "same") return {result(call, std::nullopt)};
  for (std::size_t i = 0, dims = weight.shape->size() - 2; i < dims; ++i)
    (*shape)[shape->size() - 1 - i] = (*input.shape)[shape->size() - 1 - i];
  return {result(call, std::move(shape))};
}

Facts convolution(const Call& call) {
  if (const auto padding = call.string("padding")) return named_padding(call, *padding);
  return {result(call, convolved(tensor_of(call, "input"), tensor_of(call, "weight"), windows_of(call)))};
}

Facts transposed_convolution(const Call& call) {
  Windows windows = windows_of(call);
  windows.transposed = true;
  return {result(call, convolved(tensor_of(call, "input"), tensor_of(call, "weight"), windows))};
}

Facts either(const Call& call) {
  const auto direction = call.boolean("transposed");
  if (!direction) return {result(call, std::nullopt)};
  return *direction ? transposed_convolution(call) : convolution(call);
}

// (time, batch, channels) with weight (width, in, out).
Facts time_batch_channels(const Call& call) {
  const TensorFact &self = self_of(call), &weight = tensor_of(call, "weight");
  const Dim length = size_at(self, 0) + Dim(2) * call.dim("pad").value_or(Dim::unknown()) - size_at(weight, 0) + Dim(1);
  return {tensor_fact(self.dtype, Shape{length, size_at(self, 1), size_at(weight, 2)})};
}

// (batch, channels, height, width) → (batch, channels · window, places); the batch may be missing.
Facts im2col(const Call& call) {
  const TensorFact& self = self_of(call);
  if (!self.shape || self.shape->size() < 3) return {tensor_fact(self.dtype, std::nullopt)};
  const Shape kernel = sizes_of(call.dims("kernel_size"), 2), dilation = sizes_of(call.dims("dilation"), 2);
  const Shape padding = sizes_of(call.dims("padding"), 2), stride = sizes_of(call.dims("stride"), 2);
  Shape shape(self.shape->begin(), self.shape->end() - 2);
  Dim places = 1, window = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    window = window * kernel[i];
    places = places * window_count((*self.shape)[self.shape->size() - 2 + i], kernel[i], stride[i], padding[i], dilation[i]);
  }
  shape.back() = shape.back() * window;
  shape.push_back(places);
  return {tensor_fact(self.dtype, std::move(shape))};
}

Facts col2im(const Call& call) {
  const TensorFact& self = self_of(call);
  if (!self.shape || self.shape->size() < 2) return {tensor_fact(self.dtype, std::nullopt)};
  Shape shape(self.shape->begin(), self.shape->end() - 1);
  shape.back() = floor_div(shape.back(), product(sizes_of(call.dims("kernel_size"), 2)));
  for (const Dim& dim : sizes_of(call.dims("output_size"), 2)) shape.push_back(dim);
  return {tensor_fact(self.dtype, std::move(shape))};
}

// ---- Demands

// Demands windows in the last `dims` dimensions of the result, or in a list of sizes.
void demand_windows(Demands& demands, const Shape& sizes, std::size_t dims) {
  for (std::size_t i = sizes.size() - std::min(dims, sizes.size()); i < sizes.size(); ++i)
    demands.at_least(sizes[i], 1, "dimension " + std::to_string(i) + " of the result");
}

void demand_channels(Demands& demands, const Call& call, const Shape& input, const Shape& weight, bool transposed) {
  const Dim channels = input[input.size() - weight.size() + 1], groups = call.dim("groups").value_or(Dim::unknown());
  demands.equal(channels, transposed ? weight[0] : weight[1] * groups, "the number of input channels");
  demands.multiple(weight[0], groups, "dimension 0 of weight");
  demands.equal(size_at(tensor_of(call, "bias"), 0), transposed ? weight[1] * groups : weight[0], "the number of biases");
}

// The number of dimensions that the windows slide over, from the operator's name ("aten::conv2d"), a list with a member for
// each dimension, or the weight. nullopt if none of these shows it.
std::optional<std::size_t> sliding_dims(const Call& call) {
  constexpr std::string_view digits = "123";
  const std::string_view op = call.op();
  if (const auto digit = op.find_first_of(digits); digit != std::string_view::npos && op.substr(digit + 1).starts_with('d'))
    return static_cast<std::size_t>(op[digit] - '0');
  for (const char* list : {"stride", "padding", "dilation", "output_padding"})
    if (const auto members = call.list(list); members && members->size() > 1) return members->size();
  const auto rank = call.rank("weight");
  return rank && *rank >= 3 ? std::optional(*rank - 2) : std::nullopt;
}

// Windows over that many dimensions; at::convolution always takes a batch.
void demand_ranks(Demands& demands, const Call& call, std::optional<std::size_t> dims) {
  constexpr std::size_t fewest = 1, most = 3;
  const bool batched = call.op().ends_with("convolution") || call.op().ends_with("convolution_mode");
  const std::size_t least_of_input = dims.value_or(fewest) + (batched ? 2 : 1);
  demands.rank(call, "weight", dims.value_or(fewest) + 2, dims.value_or(most) + 2);
  demands.rank(call, "input", least_of_input, dims.value_or(most) + 2);
}

Verdict convolution_demands(const Call& call, bool transposed) {
  Demands demands;
  const TensorFact &input = tensor_of(call, "input"), &weight = tensor_of(call, "weight");
  demands.one_dtype(call, {"input", "weight"});
  if (!transposed) demands.one_dtype(call, {"bias"});  // PyTorch accepts a bias of any dtype for transposed convolutions
  demands.rank(call, "bias", 1, 1);
  demand_ranks(demands, call, sliding_dims(call));
  if (!weight.shape || weight.shape->size() < 3) return demands.verdict();
  const std::size_t dims = weight.shape->size() - 2;
  for (const char* list : {"stride", "padding", "dilation", "output_padding"}) demands.length(call, list, dims);
  const Shape strides = sizes_of(call.dims("stride"), dims), dilations = sizes_of(call.dims("dilation"), dims);
  if (transposed) {
    const Shape extra = sizes_of(call.dims("output_padding"), dims);
    for (std::size_t i = 0; i < dims; ++i)
      if (strides[i].is_number() && dilations[i].is_number())
        demands.at_most(extra[i], std::max(*strides[i].number(), *dilations[i].number()) - 1, "output_padding");
  }
  if (call.string("padding") == "same")
    for (const Dim& stride : strides) demands.equal(stride, 1, "the stride where padding is 'same'");
  if (!input.shape || input.shape->size() < dims + 1 || input.shape->size() > dims + 2) return demands.verdict();
  demand_channels(demands, call, *input.shape, *weight.shape, transposed);
  const auto* result = call.facts().of(call.node().output(0)).tensor();
  if (result && result->shape) demand_windows(demands, *result->shape, dims);
  return demands.verdict();
}

Verdict convolution_fits(const Call& call) {
  const bool named = call.op().find("transpose") != std::string_view::npos;
  const auto transposed = named                    ? std::optional(true)
                          : call.has("transposed") ? call.boolean("transposed")
                                                   : std::optional(false);
  return transposed ? convolution_demands(call, *transposed) : Demands().verdict();
}

// ONNX's output_padding ends there, PyTorch's at the dilation.
Verdict output_padding_within_stride(const Call& call) {
  const auto padding = call.ints("output_padding"), stride = call.ints("stride");
  for (std::size_t i = 0; padding && i < padding->size(); ++i) {
    if ((*padding)[i] == 0) continue;
    if (!stride || stride->empty() || (*padding)[i] >= (*stride)[std::min(i, stride->size() - 1)])
      return {.truth = Truth::no, .message = "output_padding is as wide as the stride"};
  }
  return {.truth = Truth::yes};
}

// The places of the windows in an image, in each of two dimensions.
Shape places(const Call& call, const Shape& image) {
  const Shape kernel = sizes_of(call.dims("kernel_size"), 2), dilation = sizes_of(call.dims("dilation"), 2);
  const Shape padding = sizes_of(call.dims("padding"), 2), stride = sizes_of(call.dims("stride"), 2);
  Shape counts;
  for (std::size_t i = 0; i < 2; ++i) counts.push_back(window_count(image[i], kernel[i], stride[i], padding[i], dilation[i]));
  return counts;
}

// Both take lists of exactly two.
void demand_pairs(Demands& demands, const Call& call, std::initializer_list<const char*> lists) {
  for (const char* name : lists)
    if (const auto members = call.list(name); members && members->size() != 2)
      demands.broken("the length of " + std::string(name) + " must be 2");
}

Verdict columns_fit(const Call& call) {
  Demands demands;
  demands.rank(call, "self", 3, 4);
  demand_pairs(demands, call, {"kernel_size", "dilation", "padding", "stride"});
  const TensorFact& self = self_of(call);
  if (self.shape && self.shape->size() >= 3) demand_windows(demands, places(call, {self.shape->end() - 2, self.shape->end()}), 2);
  return demands.verdict();
}

Verdict folded_columns_fit(const Call& call) {
  Demands demands;
  demands.rank(call, "self", 2, 3);
  demand_pairs(demands, call, {"output_size", "kernel_size", "dilation", "padding", "stride"});
  const TensorFact& self = self_of(call);
  const Shape counts = places(call, sizes_of(call.dims("output_size"), 2));
  demand_windows(demands, counts, 2);
  if (!self.shape || self.shape->size() < 2) return demands.verdict();
  demands.multiple((*self.shape)[self.shape->size() - 2], product(sizes_of(call.dims("kernel_size"), 2)),
                   "the number of rows of self");
  demands.equal(self.shape->back(), product(counts), "the number of windows in self");
  return demands.verdict();
}

}  // namespace

void register_convolution(Registry& registry) {
  for (const char* op : {"aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::_convolution_mode", "aten::mkldnn_convolution",
                         "aten::cudnn_convolution", "aten::thnn_conv2d", "aten::_slow_conv2d_forward", "aten::slow_conv3d"})
    registry.facts(op, convolution);
  for (const char* op : {"aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d"})
    registry.facts(op, transposed_convolution);
  for (const char* op : {"aten::_convolution", "aten::convolution", "aten::convolution_overrideable"}) registry.facts(op, either);
  registry.facts("aten::conv_tbc", time_batch_channels);
  registry.condition("convolution_fits", convolution_fits);
  registry.condition("output_padding_within_stride", output_padding_within_stride);
  registry.condition("columns_fit", columns_fit);
  registry.condition("folded_columns_fit", folded_columns_fit);
  registry.facts("aten::im2col", im2col);
  registry.facts("aten::col2im", col2im);
}

}  // namespace compatcheck::symbolic

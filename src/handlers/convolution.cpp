#include "handlers/convolution.h"

#include <algorithm>
#include <numeric>

#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

std::int64_t known_number(Emission& e, const Dim& dim, std::string_view argument, std::string_view what) {
  if (const auto number = dim.number()) return *number;
  e.want(argument, what);
}

// ---- Integers, and f64, which no runtime's Conv takes: a product of matrices on the cells of the windows

// A transposed convolution reads cell i with weight k at window · 1 = i · stride + k · dilation − padding.
Cells transposed_cells(const Windows& windows, std::size_t dimension, std::int64_t size, std::int64_t count) {
  Cells cells{windows.kernel[dimension], count, {}};
  for (std::int64_t k = 0; k < cells.kernel; ++k)
    for (std::int64_t window = 0; window < count; ++window) {
      const std::int64_t from = window + windows.begin[dimension] - k * windows.dilation[dimension];
      const bool there = from >= 0 && from % windows.stride[dimension] == 0 && from / windows.stride[dimension] < size;
      cells.at.push_back(there ? from / windows.stride[dimension] : -1);
    }
  return cells;
}

std::int64_t window_count(const Convolution& c, std::size_t i, std::int64_t size) {
  const Windows& w = c.windows;
  if (c.transposed) return (size - 1) * w.stride[i] - w.begin[i] - w.end[i] + w.extent(i) + c.output_padding[i];
  return (size + w.begin[i] + w.end[i] - w.extent(i)) / w.stride[i] + 1;
}

Value add_bias(Emission& e, const Value& value, const Value& bias, std::size_t dims) {
  if (!bias) return value;
  Ints axes(dims);
  std::iota(axes.begin(), axes.end(), 1);
  return e.node("Add", {value, e.build.unsqueeze(bias, axes)});
}

Value convolve_by_products(Emission& e, const Convolution& c) {
  demand_possible(c.windows);
  if (c.groups < 1) throw Refusal{"groups must be at least 1, but is " + std::to_string(c.groups)};
  const auto dims = static_cast<std::int64_t>(c.windows.dims());
  const auto channels = [&](std::size_t i) { return known_number(e, c.weight_shape[i], "weight", "a size"); };
  const std::int64_t in = (c.transposed ? channels(0) : channels(1) * c.groups) / c.groups;  // channels of a group
  const std::int64_t out = c.transposed ? channels(1) : channels(0) / c.groups;
  // Input: (batch, channels, k0, o0, k1, o1, …) → (batch, groups, channels of a group · kernel, places)
  Value columns = c.input;
  Ints order{0, 1}, result{0, out * c.groups};
  std::int64_t kernel = 1, places = 1;
  for (std::int64_t i = 0; i < dims; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t size = known_number(e, c.input_shape[at + 2], "input", "a size");
    const std::int64_t count = window_count(c, at, size);
    const Cells cells = c.transposed ? transposed_cells(c.windows, at, size, count) : cells_of(c.windows, at, size, count);
    columns = gather_cells(e, columns, 2 + dims + i, 2 + 2 * i, size, cells);
    order.push_back(2 + 2 * i);
    kernel *= cells.kernel;
    places *= count;
    result.push_back(count);
  }
  for (std::int64_t i = 0; i < dims; ++i) order.push_back(3 + 2 * i);
  columns = e.build.reshape(e.build.transpose(columns, order), {0, c.groups, in * kernel, places});
  // Weight: (groups, channels out of a group, channels in of a group · kernel)
  Value weight = c.weight;
  if (c.transposed) {
    weight = e.build.reshape(weight, {c.groups, in, out, kernel});
    weight = e.build.transpose(weight, {0, 2, 1, 3});
  }
  weight = e.build.reshape(weight, {c.groups, out, in * kernel});
  return add_bias(e, e.build.reshape(e.node("MatMul", {weight, columns}), result), c.bias, c.windows.dims());
}

bool beyond_a_stride(const Convolution& c) {
  for (std::size_t i = 0; i < c.windows.dims(); ++i)
    if (c.output_padding[i] >= c.windows.stride[i] && c.output_padding[i] > 0) return true;
  return false;
}

// PyTorch's output_padding may be as large as the dilation, ONNX's only as large as the stride. The rest becomes end padding
// that isn't removed, and cells that have only the bias.
Value convolve_transposed_wide(Emission& e, const Convolution& c) {
  Windows windows = c.windows;
  Ints beyond;
  for (std::size_t i = 0; i < windows.dims(); ++i) {
    const std::int64_t kept = std::min(windows.end[i], c.output_padding[i]);
    windows.end[i] -= kept;
    beyond.push_back(c.output_padding[i] - kept);
  }
  const DType wide = c.input.dtype == DType::f64 ? DType::f64 : DType::f32;  // rounded once, behind the bias
  const Value made = e.node("ConvTranspose", {e.cast(c.input, wide), e.cast(c.weight, wide)},
                            {{"kernel_shape", windows.kernel},
                             {"strides", windows.stride},
                             {"pads", windows.pads()},
                             {"dilations", windows.dilation},
                             {"group", c.groups}});
  const auto rank = static_cast<std::int64_t>(windows.dims()) + 2;
  return add_bias(e, pad(e, made, rank, 2, Ints(windows.dims(), 0), beyond), e.cast(c.bias, wide), windows.dims());
}

}  // namespace

Value convolve(Emission& e, const Convolution& c) {
  const DType dtype = c.input.dtype;
  const bool known = all_known({c.input_shape.begin() + 2, c.input_shape.end()});
  if (!ir::is_floating(dtype) || (dtype == DType::f64 && known)) return convolve_by_products(e, c);
  Arguments attributes{{"kernel_shape", c.windows.kernel},
                       {"strides", c.windows.stride},
                       {"pads", c.windows.pads()},
                       {"dilations", c.windows.dilation},
                       {"group", c.groups}};
  if (!c.transposed) return e.node("Conv", {c.input, c.weight, c.bias}, attributes);
  if (beyond_a_stride(c)) return convolve_transposed_wide(e, c);
  attributes.push_back({"output_padding", c.output_padding});
  return e.node("ConvTranspose", {c.input, c.weight, c.bias}, attributes);
}

namespace {

Ints ints_or(const Emission& e, std::string_view argument, std::size_t dims, std::int64_t otherwise) {
  return e.given(argument) ? spread(e.ints(argument), dims) : Ints(dims, otherwise);
}

// padding="same": at stride 1 as many places as cells, the odd one at the end.
void pad_by_name(Emission& e, Windows& windows) {
  const std::string padding = e.string("padding");
  windows.begin = windows.end = Ints(windows.dims(), 0);
  if (padding == "valid") return;
  if (padding != "same") throw Refusal{"padding '" + padding + "' is none of valid and same"};
  for (std::size_t i = 0; i < windows.dims(); ++i) {
    windows.begin[i] = (windows.extent(i) - 1) / 2;
    windows.end[i] = windows.extent(i) - 1 - windows.begin[i];
  }
}

void convolution_of(Emission& e, bool transposed) {
  const Shape& weight = e.shape("weight");
  const std::size_t dims = weight.size() - 2;
  Windows windows;
  for (std::size_t i = 0; i < dims; ++i) windows.kernel.push_back(e.known_size("weight", static_cast<std::int64_t>(i) + 2));
  windows.stride = ints_or(e, "stride", dims, 1);
  windows.dilation = ints_or(e, "dilation", dims, 1);
  if (e.call.string("padding"))
    pad_by_name(e, windows);
  else
    windows.begin = windows.end = ints_or(e, "padding", dims, 0);
  const Batched input = with_batch(e, "input", dims);
  const Value made = convolve(e, {.input = input.value,
                                  .weight = e.tensor("weight"),
                                  .bias = e.optional_tensor("bias"),
                                  .input_shape = input.shape,
                                  .weight_shape = weight,
                                  .windows = windows,
                                  .output_padding = transposed ? ints_or(e, "output_padding", dims, 0) : Ints(dims, 0),
                                  .groups = e.integer("groups"),
                                  .transposed = transposed});
  e.give(input.without(e, made));
}

void forward(Emission& e) { convolution_of(e, false); }
void transposed_convolution(Emission& e) { convolution_of(e, true); }
void either(Emission& e) { convolution_of(e, e.boolean("transposed")); }

// (time, batch, channels) with weight (width, in, out).
void time_batch_channels(Emission& e) {
  const Value input = e.build.transpose(e.tensor("self"), {1, 2, 0});
  const Value weight = e.build.transpose(e.tensor("weight"), {2, 1, 0});
  const Shape &self = e.shape("self"), &kernel = e.shape("weight");
  const std::int64_t padding = e.integer("pad");
  const Value made = convolve(e, {.input = input,
                                  .weight = weight,
                                  .bias = e.tensor("bias", e.dtype("self")),
                                  .input_shape = {self[1], self[2], self[0]},
                                  .weight_shape = {kernel[2], kernel[1], kernel[0]},
                                  .windows = {{e.known_size("weight", 0)}, {1}, {padding}, {padding}, {1}},
                                  .output_padding = {0}});
  e.give(e.build.transpose(made, {2, 0, 1}));
}

// ---- torch.nn.Unfold and torch.nn.Fold

Windows windows_of(const Emission& e) {
  const Ints padding = spread(e.ints("padding"), 2);
  Windows windows{spread(e.ints("kernel_size"), 2), spread(e.ints("stride"), 2), padding, padding, spread(e.ints("dilation"), 2)};
  demand_possible(windows);
  return windows;
}

// (batch, channels, height, width) → (batch, channels · kernel, places)
void im2col(Emission& e) {
  const Windows windows = windows_of(e);
  const Batched input = with_batch(e, "self", 2);
  const bool known = all_known(input.spatial());
  Value cells = input.value;
  std::int64_t places = known ? 1 : -1;
  if (!known) cells = pad(e, cells, 4, 2, windows.begin, windows.end);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<std::int64_t>(2 + 2 * i);
    if (!known) {
      cells = slice_cells(e, cells, axis, windows, i);
      continue;
    }
    const std::int64_t size = *input.shape[i + 2].number();
    const std::int64_t count = (size + 2 * windows.begin[i] - windows.extent(i)) / windows.stride[i] + 1;
    places *= count;
    cells = gather_cells(e, cells, static_cast<std::int64_t>(4 + i), axis, size, cells_of(windows, i, size, count));
  }
  cells = e.build.transpose(cells, {0, 1, 2, 4, 3, 5});
  const std::int64_t window = windows.kernel[0] * windows.kernel[1];
  const auto channels = input.shape[1].number();
  if (channels) return e.give(input.without(e, e.build.reshape(cells, {0, *channels * window, places})));
  const Value columns = e.node("Mul", {e.size_of("self", input.added ? 0 : 1), e.integers({window})});
  e.give(input.without(e, reshape_parts(e, cells, {e.integers({0}), columns, e.integers({places})})));
}

// The window cells that each place of dimension `axis` of (…, kernel, count, …) collects, summed.
Value fold(Emission& e, const Value& value, std::int64_t rank, std::int64_t axis, const Windows& windows, std::size_t dimension,
           std::int64_t count, std::int64_t size) {
  Cells cells{windows.kernel[dimension], size, {}};
  for (std::int64_t k = 0; k < cells.kernel; ++k)
    for (std::int64_t place = 0; place < size; ++place) {
      const std::int64_t from = place + windows.begin[dimension] - k * windows.dilation[dimension];
      const bool there = from >= 0 && from % windows.stride[dimension] == 0 && from / windows.stride[dimension] < count;
      cells.at.push_back(there ? k * count + from / windows.stride[dimension] : -1);
    }
  return e.node("ReduceSum", {gather_cells(e, value, rank, axis, cells.kernel * count, cells)},
                {{"axes", Ints{axis}}, {"keepdims", 0}});
}

// The same where only the running model knows the sizes: a gap reads a zero behind the last cell. `count` and `size` are i64
// vectors of one.
Value fold(Emission& e, const Value& value, std::int64_t axis, const Windows& windows, std::size_t dimension, const Value& count,
           const Value& size) {
  const std::int64_t stride = windows.stride[dimension];
  Ints kernel, shifts;
  for (std::int64_t k = 0; k < windows.kernel[dimension]; ++k) {
    kernel.push_back(k);
    shifts.push_back(windows.begin[dimension] - k * windows.dilation[dimension]);
  }
  const Value at = [&] {
    const auto marked = e.build.plumbing();  // would be a constant if its size were known
    const auto column = [&](const Ints& numbers) { return e.build.unsqueeze(e.integers(numbers), {1}); };
    const Value from = e.node("Add", {counting(e, size), column(shifts)});  // (kernel, size)
    const Value frame = e.node("Div", {from, e.integers({stride})});
    const Value exact = e.node("Equal", {e.node("Mul", {frame, e.integers({stride})}), from});
    const Value within =
        e.node("And", {e.node("Less", {frame, count}), e.node("Not", {e.node("Less", {from, e.integers({0})})})});
    const Value place = e.node("Add", {e.node("Mul", {column(kernel), count}), frame});
    const Value behind = product(e, count, e.integers({windows.kernel[dimension]}));
    return e.node("Where", {e.node("And", {exact, within}), place, behind});
  }();
  Ints before(static_cast<std::size_t>(4 - axis), 0), after = before;
  after.front() = 1;
  const Value cells = e.build.gather(pad(e, value, 4, axis, before, after), at, axis);
  return e.node("ReduceSum", {cells}, {{"axes", Ints{axis}}, {"keepdims", 0}});
}

// (batch, channels · kernel, places) → (batch, channels, height, width), of sizes known when the model runs
Value folded_at_run_time(Emission& e, const Value& columns, const Windows& windows, std::int64_t channels, const Value& sizes) {
  if (!ir::is_floating(columns.dtype)) throw Refusal{"windows of integers add up to a fixed size only", "fix output_size"};
  const auto size = [&](std::int64_t i) { return e.build.slice(sizes, {i}, {i + 1}, {0}); };
  const auto count = [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const Value places = sum(e, size(i), e.integers({2 * windows.begin[at] - windows.extent(at)}));
    return sum(e, quotient(e, places, e.integers({windows.stride[at]})), e.integers({1}));
  };
  const Value height = count(0), width = count(1);
  const auto number = [&](std::int64_t n) { return e.integers({n}); };
  Value made = reshape_parts(e, columns,
                             {number(0), number(channels), number(windows.kernel[0]), number(windows.kernel[1]), height, width});
  made = reshape_parts(
      e, e.build.transpose(made, {0, 1, 2, 4, 3, 5}),
      {number(0), number(channels), product(e, number(windows.kernel[0]), height), product(e, number(windows.kernel[1]), width)});
  return fold(e, fold(e, made, 2, windows, 0, height, size(0)), 3, windows, 1, width, size(1));
}

// (batch, channels · kernel, places) → (batch, channels, height, width)
void col2im(Emission& e) {
  const Windows windows = windows_of(e);
  const Value sizes = e.int_vector("output_size");
  const auto known = e.build.ints_of(sizes);
  const bool batched = e.rank("self") == 3;
  Value columns = e.tensor("self");
  if (!batched) columns = e.build.unsqueeze(columns, {0});
  Value made;
  const auto channels = [&] { return e.known_size("self", batched ? 1 : 0) / (windows.kernel[0] * windows.kernel[1]); };
  if (e.variant("operator")) {
    made = e.node("Col2Im", {columns, known ? e.integers(spread(*known, 2)) : sizes, e.integers(windows.kernel)},
                  {{"strides", windows.stride}, {"pads", windows.pads()}, {"dilations", windows.dilation}});
  } else if (!known) {
    made = folded_at_run_time(e, columns, windows, channels(), sizes);
  } else {
    const Ints size = spread(*known, 2);
    Ints count;
    for (std::size_t i = 0; i < 2; ++i)
      count.push_back((size[i] + 2 * windows.begin[i] - windows.extent(i)) / windows.stride[i] + 1);
    made = e.build.reshape(columns, {0, channels(), windows.kernel[0], windows.kernel[1], count[0], count[1]});
    made = e.build.reshape(e.build.transpose(made, {0, 1, 2, 4, 3, 5}),
                           {0, channels(), windows.kernel[0] * count[0], windows.kernel[1] * count[1]});
    made = fold(e, made, 4, 2, windows, 0, count[0], size[0]);
    made = fold(e, made, 4, 3, windows, 1, count[1], size[1]);
  }
  e.give(batched ? made : e.build.squeeze(made, {0}));
}

}  // namespace

void register_convolution(Registry& registry) {
  for (const char* op : {"aten::conv1d", "aten::conv1d.padding"}) registry.handler(op, forward);
  registry.handler("aten::conv_transpose1d", transposed_convolution);
  for (const char* op : {"aten::convolution", "aten::_convolution"}) registry.handler(op, either);
  registry.handler("aten::conv_tbc", time_batch_channels);
  registry.handler("aten::im2col", im2col);
  registry.handler("aten::col2im", col2im, {"operator"});
}

}  // namespace compatcheck::handlers

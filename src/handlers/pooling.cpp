// Pools over windows of one size.
#include "handlers/pooling.h"

#include <algorithm>
#include <numeric>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {

Windows pool_windows(Emission& e, std::size_t dims, const Shape& spatial, std::string_view tensor) {
  Windows windows;
  windows.kernel = spread(e.ints("kernel_size"), dims);
  const Ints stride = e.given("stride") ? e.ints("stride") : Ints{};
  windows.stride = stride.empty() ? windows.kernel : spread(stride, dims);
  windows.begin = windows.end = spread(e.ints("padding"), dims);
  windows.dilation = e.call.has("dilation") ? spread(e.ints("dilation"), dims) : Ints(dims, 1);
  demand_possible(windows);
  if (!e.boolean("ceil_mode")) return windows;
  for (std::size_t i = 0; i < dims; ++i) {
    const std::int64_t begin = windows.begin[i], stride_i = windows.stride[i], extent = windows.extent(i);
    if (const auto size = spatial[i].number()) {
      std::int64_t count = (*size + 2 * begin - extent + stride_i - 1) / stride_i + 1;
      if ((count - 1) * stride_i >= *size + begin) --count;  // no window begins in the padding at the end
      windows.end[i] = std::max<std::int64_t>(0, (count - 1) * stride_i + extent - *size - begin);
    } else if (begin + stride_i <= extent) {  // no window could begin there
      windows.end[i] = begin + stride_i - 1;
    } else {
      e.want(tensor, "with ceil_mode, a size");
    }
  }
  return windows;
}

namespace {

Ints counts_of(const Windows& windows, const Ints& sizes) {
  Ints counts;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    counts.push_back((sizes[i] + windows.begin[i] + windows.end[i] - windows.extent(i)) / windows.stride[i] + 1);
  return counts;
}

// (batch, channels, k0, o0, k1, o1, …) with the windows' cells last and flat: (batch, channels, o0, o1, …, cells).
Value cells_last(Emission& e, const Value& input, const Ints& sizes, const std::vector<Cells>& cells) {
  const auto dims = static_cast<std::int64_t>(cells.size());
  Value gathered = input;
  Ints order{0, 1}, flat{0, 0};
  for (std::int64_t i = 0; i < dims; ++i) {
    const auto at = static_cast<std::size_t>(i);
    gathered = gather_cells(e, gathered, 2 + dims + i, 2 + 2 * i, sizes[at], cells[at]);
    order.push_back(3 + 2 * i);
    flat.push_back(cells[at].count);
  }
  for (std::int64_t i = 0; i < dims; ++i) order.push_back(2 + 2 * i);
  flat.push_back(std::accumulate(cells.begin(), cells.end(), std::int64_t{1},
                                 [](std::int64_t count, const Cells& one) { return count * one.kernel; }));
  return e.build.reshape(e.build.transpose(gathered, order), flat);
}

// Positions in the image, for each window in turn, for each of its cells.
Ints cell_positions(const Ints& sizes, const std::vector<Cells>& cells) {
  Ints made{0};
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // windows of all dimensions, then cells of all
  for (const Cells& one : cells) axes.emplace_back(one.count, 0);
  for (const Cells& one : cells) axes.emplace_back(one.kernel, 0);
  std::int64_t total = 1;
  for (const auto& [count, at] : axes) total *= count;
  made.clear();
  for (std::int64_t i = 0; i < total; ++i) {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < cells.size(); ++d)
      position = position * sizes[d] + cells[d].cell(axes[cells.size() + d].second, axes[d].second);
    made.push_back(position);
    for (std::size_t a = axes.size(); a-- > 0 && ++axes[a].second == axes[a].first;) axes[a].second = 0;
  }
  return made;
}

}  // namespace

MaxPooled max_of_cells(Emission& e, const Value& input, const Ints& sizes, std::vector<Cells> cells, bool positions) {
  for (Cells& one : cells)  // a gap repeats its window's first cell
    for (std::int64_t window = 0; window < one.count; ++window) {
      std::int64_t first = 0;
      while (first < one.kernel && one.cell(first, window) < 0) ++first;
      for (std::int64_t k = 0; k < one.kernel; ++k)
        if (one.cell(k, window) < 0) one.cell(k, window) = one.cell(k ? k - 1 : first, window);
    }
  const Value windows = cells_last(e, input, sizes, cells);
  const auto last = static_cast<std::int64_t>(sizes.size()) + 2;
  MaxPooled made{e.node("ReduceMax", {windows}, {{"axes", Ints{last}}, {"keepdims", 0}}), {}};
  if (!positions) return made;
  const Value cell = e.node("ArgMax", {windows}, {{"axis", last}, {"keepdims", 0}}, DType::i64);
  const Ints table = cell_positions(sizes, cells);
  Ints counts;
  std::int64_t total = 1, kernel = 1;
  for (const Cells& one : cells) counts.push_back(one.count), total *= one.count, kernel *= one.kernel;
  Ints first;
  for (std::int64_t i = 0; i < total; ++i) first.push_back(i * kernel);
  const Value base = e.build.constant(onnx::make_tensor(DType::i64, counts, first));
  made.positions = e.build.gather(e.integers(table), e.node("Add", {cell, base}), 0);
  return made;
}

Value sum_of_cells(Emission& e, const Value& input, std::int64_t rank, std::int64_t axis, std::int64_t size, const Cells& cells) {
  return e.node("ReduceSum", {gather_cells(e, input, rank, axis, size, cells)}, {{"axes", Ints{axis}}, {"keepdims", 0}});
}

namespace {

// The dtype in which MaxPool takes every value; nullopt: in none.
std::optional<DType> max_pool_dtype(DType dtype) {
  switch (dtype) {
    case DType::i8:
    case DType::u8:
    case DType::i16: return DType::f32;
    case DType::i32: return DType::f64;
    case DType::i64: return std::nullopt;
    default: return dtype;
  }
}

// Counted over the whole tensor by MaxPool.
Value within_image(Emission& e, const Value& positions, const Value& input, const Shape& spatial) {
  Value cells;
  if (all_known(spatial)) {
    std::int64_t product = 1;
    for (const Dim& dim : spatial) product *= *dim.number();
    cells = e.scalar(DType::i64, product);
  } else {
    const auto rank = static_cast<std::int64_t>(spatial.size()) + 2;
    const Value sizes = e.build.slice(e.node("Shape", {input}), {2}, {rank}, {0});
    cells = e.node("ReduceProd", {sizes}, {{"axes", Ints{0}}, {"keepdims", 0}});
  }
  return e.node("Sub", {positions, e.node("Mul", {e.node("Div", {positions, cells}), cells})});
}

}  // namespace

namespace {

// The maximum of nothing is -infinity in PyTorch, and the dtype's least number in ONNX Runtime.
void demand_cells(const Windows& windows, const Shape& spatial) {
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    const auto size = spatial[i].number();
    if (!size || windows.dilation[i] == 1) continue;
    const std::int64_t count = (*size + windows.begin[i] + windows.end[i] - windows.extent(i)) / windows.stride[i] + 1;
    const auto reads_an_element = [&](std::int64_t window) {
      const std::int64_t start = window * windows.stride[i] - windows.begin[i];
      const std::int64_t skipped = start < 0 ? (windows.dilation[i] - 1 - start) / windows.dilation[i] : 0;
      return skipped < windows.kernel[i] && start + skipped * windows.dilation[i] < *size;
    };
    // Windows that start in the padding, and the last one.
    bool all = count < 1 || reads_an_element(count - 1);
    for (std::int64_t window = 0; all && window < count && window * windows.stride[i] < windows.begin[i]; ++window)
      all = reads_an_element(window);
    if (!all) throw Refusal{"a window reads padding alone", "use less padding or less dilation"};
  }
}

}  // namespace

MaxPooled max_pool(Emission& e, const Value& input, const Shape& spatial, const Windows& windows, bool positions) {
  demand_cells(windows, spatial);
  const auto dtype = max_pool_dtype(input.dtype);
  const bool dilated = !std::ranges::all_of(windows.dilation, [](std::int64_t n) { return n == 1; });
  bool narrow = true;  // runtimes reject padding as wide as the kernel
  for (std::size_t i = 0; i < windows.dims(); ++i) narrow &= std::max(windows.begin[i], windows.end[i]) < windows.kernel[i];
  const bool native =
      dtype && narrow && (*dtype != DType::f64 || e.at_least(8)) && (!positions || e.at_least(8)) && (!dilated || e.at_least(10));
  if (!native) {
    const auto known = numbers_of(spatial);
    if (!known) e.want("self", "where MaxPool doesn't do, a size");
    const Ints &sizes = *known, counts = counts_of(windows, sizes);
    std::vector<Cells> cells;
    for (std::size_t i = 0; i < sizes.size(); ++i) cells.push_back(cells_of(windows, i, sizes[i], counts[i]));
    return max_of_cells(e, input, sizes, std::move(cells), positions);
  }
  Arguments attributes{{"kernel_shape", windows.kernel}, {"strides", windows.stride}, {"pads", windows.pads()}};
  if (dilated) attributes.push_back({"dilations", windows.dilation});
  const Value cast_input = e.cast(input, *dtype);
  const Values made = e.nodes("MaxPool", {cast_input}, positions ? 2 : 1, attributes);
  return {e.cast(made[0], input.dtype), positions ? within_image(e, made[1], cast_input, spatial) : Value{}};
}

namespace {

// One window over all sizes behind (batch, channels).
Value pool_of_all(Emission& e, const Batched& input, std::size_t dims, std::string_view global, std::string_view reduction) {
  const DType dtype = input.value.dtype;
  if (dtype != DType::f64 && ir::is_floating(dtype)) return e.node(global, {input.value});
  Ints axes(dims);
  std::iota(axes.begin(), axes.end(), 2);
  return reduce(e, reduction, input.value, axes, true);
}

void max_pool_call(Emission& e) {
  const std::size_t dims = dims_of_name(e);
  const Batched input = with_batch(e, "self", dims);
  if (e.variant("whole")) return e.give(input.without(e, pool_of_all(e, input, dims, "GlobalMaxPool", "ReduceMax")));
  const Shape spatial = input.spatial();
  const bool positions = e.output_used(1);
  const MaxPooled made = max_pool(e, input.value, spatial, pool_windows(e, dims, spatial), positions);
  e.give(0, input.without(e, made.values));
  if (positions) e.give(1, input.without(e, made.positions));
}

// ---- Averages

// Returns the divisors of each window's sum, as (o0, o1, …). With `counted` the padding counts too.
Value divisors(Emission& e, const Windows& windows, const Ints& sizes, const Ints& padding, bool counted, DType dtype) {
  const Ints counts = counts_of(windows, sizes);
  Ints product{1};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Ints next;
    for (const std::int64_t before : product)
      for (std::int64_t window = 0; window < counts[i]; ++window) {
        const std::int64_t start = window * windows.stride[i] - windows.begin[i];
        const std::int64_t end = std::min(start + windows.kernel[i], sizes[i] + padding[i]);
        next.push_back(before * (counted ? end - start : std::min(end, sizes[i]) - std::max<std::int64_t>(start, 0)));
      }
    product = std::move(next);
  }
  return e.build.constant(onnx::make_tensor(dtype, counts, product));
}

// Integers, whose quotients PyTorch truncates, and f64, which AveragePool doesn't take.
Value average_of_cells(Emission& e, const Value& input, const Shape& spatial, const Windows& windows, const Ints& padding,
                       bool counted) {
  const auto known = numbers_of(spatial);
  if (!known) e.want("self", "where AveragePool doesn't do, a size");
  const Ints &sizes = *known, counts = counts_of(windows, sizes);
  const auto rank = static_cast<std::int64_t>(sizes.size()) + 2;
  Value sum = input;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    sum = sum_of_cells(e, sum, rank, static_cast<std::int64_t>(i) + 2, sizes[i], cells_of(windows, i, sizes[i], counts[i]));
  if (e.given("divisor_override")) return e.node("Div", {sum, e.scalar(sum.dtype, e.integer("divisor_override"))});
  return e.node("Div", {sum, divisors(e, windows, sizes, padding, counted, sum.dtype)});
}

void avg_pool(Emission& e) {
  const std::size_t dims = dims_of_name(e);
  const Batched input = with_batch(e, "self", dims);
  if (e.variant("whole")) return e.give(input.without(e, pool_of_all(e, input, dims, "GlobalAveragePool", "ReduceMean")));
  const Shape spatial = input.spatial();
  Windows windows = pool_windows(e, dims, spatial);
  const Ints padding = spread(e.ints("padding"), dims);
  const bool counted = e.boolean("count_include_pad");
  const DType dtype = input.value.dtype;
  const auto attributes = [&](bool include) {
    return Arguments{
        {"kernel_shape", windows.kernel}, {"strides", windows.stride}, {"pads", windows.pads()}, {"count_include_pad", include}};
  };
  Value made;
  if (dtype == DType::f64 || !ir::is_floating(dtype)) {
    made = average_of_cells(e, input.value, spatial, windows, padding, counted);
  } else if (e.given("divisor_override")) {
    double cells = 1;
    for (const std::int64_t extent : windows.kernel) cells *= static_cast<double>(extent);
    const double factor = cells / static_cast<double>(e.integer("divisor_override"));
    made = e.node("AveragePool", {input.value}, attributes(true));
    made = e.node("Mul", {made, e.scalar(dtype, factor)});
  } else if (counted && !all_zero(padding) && windows.end != padding) {
    const Value padded = pad(e, input.value, static_cast<std::int64_t>(dims) + 2, 2, padding, padding);
    for (std::size_t i = 0; i < dims; ++i) windows.end[i] = std::max<std::int64_t>(0, windows.end[i] - padding[i]);
    windows.begin = Ints(dims, 0);
    made = e.node("AveragePool", {padded}, attributes(false));
  } else {
    made = e.node("AveragePool", {input.value}, attributes(counted && !all_zero(padding)));
  }
  e.give(input.without(e, made));
}

// ---- The way back: each value at the position that the pool took it from

void max_unpool(Emission& e) {
  const std::size_t dims = dims_of_name(e);
  const bool batched = e.rank("self") == static_cast<std::int64_t>(dims) + 2;
  Value self = e.tensor("self"), indices = e.tensor("indices");
  if (!batched) self = e.build.unsqueeze(self, {0}), indices = e.build.unsqueeze(indices, {0});
  const Ints size = spread(e.ints("output_size"), dims);
  std::int64_t cells = 1;
  for (const std::int64_t one : size) cells *= one;
  const Value planes = e.build.slice(e.node("Shape", {self}), {0}, {2}, {0});
  const Value zeros = e.node("ConstantOfShape", {e.build.concat({planes, e.integers({cells})}, 0)},
                             {{"value", onnx::make_tensor(self.dtype, {1}, Ints{0})}}, self.dtype);
  const std::string_view scatter = e.at_least(11) ? "ScatterElements" : "Scatter";
  const auto flat = [&](const Value& value) { return dims == 1 ? value : e.build.reshape(value, {0, 0, -1}); };
  Value made = e.node(scatter, {zeros, flat(indices), flat(self)}, {{"axis", 2}});
  Ints dims_of_result{0, 0};
  dims_of_result.insert(dims_of_result.end(), size.begin(), size.end());
  made = e.build.reshape(made, dims_of_result);
  e.give(batched ? made : e.build.squeeze(made, {0}));
}

}  // namespace

void register_pooling(Registry& registry) {
  registry.handler("aten::max_pool1d", max_pool_call, {"whole"});
  registry.handler("aten::max_pool1d_with_indices", max_pool_call);
  registry.handler("aten::avg_pool1d", avg_pool, {"whole"});
  registry.handler("aten::avg_pool2d", avg_pool, {"whole"});
  registry.handler("aten::max_unpool2d", max_unpool);
  registry.handler("aten::max_unpool3d", max_unpool);
}

}  // namespace compatcheck::handlers

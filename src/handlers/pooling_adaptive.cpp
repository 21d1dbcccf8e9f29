// Pools to a given size: windows that may differ by a cell.
#include <algorithm>
#include <numeric>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/pooling.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// How one dimension gets its size.
struct Way {
  enum class Kind : std::uint8_t { keep, all, equal, different } kind = Kind::keep;
  std::int64_t size = 0, count = 0;  // of `equal` and `different`
};

Way way_of(Emission& e, const Dim& size, const Dim& count) {
  if (provably_equal(size, count)) return {};
  const auto given = count.number();
  if (!given) e.want("output_size", "the value");
  if (*given < 1) throw Refusal{"PyTorch pools to no " + std::to_string(*given) + " places"};
  if (*given == 1) return {Way::Kind::all, size.number().value_or(0), 1};
  const auto known = size.number();
  if (!known) e.want("self", "with an output size other than 1, a size");
  return {*known % *given == 0 ? Way::Kind::equal : Way::Kind::different, *known, *given};
}

std::vector<Way> ways_of(Emission& e, const Shape& spatial) {
  const auto given = e.call.dims("output_size");
  if (!given) e.want("output_size", "the value");
  std::vector<Way> ways;
  for (std::size_t i = 0; i < spatial.size(); ++i)
    ways.push_back(way_of(e, spatial[i], given->size() == 1 ? given->front() : given->at(i)));
  return ways;
}

bool all(const std::vector<Way>& ways, Way::Kind kind) {
  return std::ranges::all_of(ways, [&](const Way& way) { return way.kind == kind; });
}

// Windows from floor(i · size / count) to ceil((i + 1) · size / count).
Cells cells_of_way(const Way& way) {
  const auto start = [&](std::int64_t i) { return i * way.size / way.count; };
  const auto end = [&](std::int64_t i) { return ((i + 1) * way.size + way.count - 1) / way.count; };
  Cells cells{0, way.count, {}};
  for (std::int64_t i = 0; i < way.count; ++i) cells.kernel = std::max(cells.kernel, end(i) - start(i));
  for (std::int64_t k = 0; k < cells.kernel; ++k)
    for (std::int64_t i = 0; i < way.count; ++i) cells.at.push_back(start(i) + k < end(i) ? start(i) + k : -1);
  return cells;
}

Value lengths(Emission& e, const Way& way, std::int64_t behind, DType dtype) {
  Ints made, dims{way.count};
  for (std::int64_t i = 0; i < way.count; ++i)
    made.push_back(((i + 1) * way.size + way.count - 1) / way.count - i * way.size / way.count);
  dims.resize(static_cast<std::size_t>(behind) + 1, 1);
  return e.build.constant(onnx::make_tensor(dtype, dims, made));
}

// Windows of `way`s that are one pool: all of one size in each dimension; nullopt if a size isn't known or differs.
std::optional<Windows> pool_of(const std::vector<Way>& ways) {
  Windows windows;
  for (const Way& way : ways) {
    const bool one_cell = way.kind == Way::Kind::keep;
    if (way.kind == Way::Kind::different || (!one_cell && way.size == 0)) return std::nullopt;
    windows.kernel.push_back(one_cell ? 1 : way.size / way.count);
  }
  windows.stride = windows.kernel;
  windows.begin = windows.end = Ints(ways.size(), 0);
  windows.dilation = Ints(ways.size(), 1);
  return windows;
}

Value average(Emission& e, const Value& input, const std::vector<Way>& ways) {
  const bool native = input.dtype != DType::f64;
  if (native && all(ways, Way::Kind::all)) return e.node("GlobalAveragePool", {input});
  if (const auto windows = pool_of(ways); native && windows)
    return e.node("AveragePool", {input}, {{"kernel_shape", windows->kernel}, {"strides", windows->stride}});
  const auto rank = static_cast<std::int64_t>(ways.size()) + 2;
  Value made = input;
  for (std::int64_t axis = 2; axis < rank; ++axis) {
    const Way& way = ways[static_cast<std::size_t>(axis) - 2];
    if (way.kind == Way::Kind::keep) continue;
    if (way.kind == Way::Kind::all) {
      made = e.node("ReduceMean", {made}, {{"axes", Ints{axis}}, {"keepdims", 1}});
      continue;
    }
    made = sum_of_cells(e, made, rank, axis, way.size, cells_of_way(way));
    made = e.node("Div", {made, lengths(e, way, rank - axis - 1, made.dtype)});
  }
  return made;
}

void adaptive_average(Emission& e) {
  const Batched input = with_batch(e, "self", dims_of_name(e));
  const auto ways = ways_of(e, input.spatial());
  if (all(ways, Way::Kind::keep)) return e.give(e.build.again(e.tensor("self")));
  e.give(input.without(e, average(e, input.value, ways)));
}

// The dimensions of an image as one. Reshape doesn't find out its size beside a batch or channels of 0.
Value flat_images(Emission& e, const Batched& input) {
  const Shape spatial = input.spatial();
  if (spatial.size() == 1) return input.value;
  if (!may_be_empty(input.shape, {0, 1})) return e.build.reshape(input.value, {0, 0, -1});
  return reshape_to(e, input.value, nullptr, nullptr, [&] {
    const Value sizes = e.node("Shape", {input.value});
    Values factors;
    for (std::int64_t axis = 2; axis < static_cast<std::int64_t>(input.shape.size()); ++axis)
      factors.push_back(e.build.slice(sizes, {axis}, {axis + 1}, {0}));
    return joined(e, {e.build.slice(sizes, {0}, {2}, {0}), product_of(e, factors)});
  });
}

// The whole image of unknown size.
MaxPooled max_of_all(Emission& e, const Batched& input, bool positions) {
  const Value& image = input.value;
  if (!positions && ir::is_floating(image.dtype) && image.dtype != DType::f64) return {e.node("GlobalMaxPool", {image}), {}};
  Ints axes(input.spatial().size());
  std::iota(axes.begin(), axes.end(), 2);
  MaxPooled made{e.node("ReduceMax", {image}, {{"axes", axes}, {"keepdims", 1}}), {}};
  if (!positions) return made;
  axes.erase(axes.begin());  // those that ArgMax's result lacks
  const Value at = e.node("ArgMax", {flat_images(e, input)}, {{"axis", 2}, {"keepdims", 1}}, DType::i64);
  made.positions = axes.empty() ? at : e.build.unsqueeze(at, axes);
  return made;
}

MaxPooled greatest(Emission& e, const Batched& input, const std::vector<Way>& ways, bool positions) {
  if (all(ways, Way::Kind::all)) return max_of_all(e, input, positions);
  if (const auto windows = pool_of(ways)) return max_pool(e, input.value, input.spatial(), *windows, positions);
  if (!all_known(input.spatial())) e.want("self", "with windows that differ, a size");
  std::vector<Cells> cells;
  for (std::size_t i = 0; i < ways.size(); ++i)
    cells.push_back(ways[i].kind == Way::Kind::keep
                        ? cells_of_way(Way{Way::Kind::equal, *input.spatial()[i].number(), *input.spatial()[i].number()})
                        : cells_of_way(ways[i]));
  return max_of_cells(e, input.value, numbers(input.spatial()), std::move(cells), positions);
}

void adaptive_max(Emission& e) {
  const Batched input = with_batch(e, "self", dims_of_name(e));
  const bool positions = e.output_used(1);
  auto ways = ways_of(e, input.spatial());
  if (!positions && all(ways, Way::Kind::keep)) return e.give(e.build.again(e.tensor("self")));
  for (std::size_t i = 0; i < ways.size(); ++i)
    if (ways[i].kind == Way::Kind::keep && input.spatial()[i].number() == 1) ways[i] = {Way::Kind::all, 1, 1};
  const MaxPooled made = greatest(e, input, ways, positions);
  e.give(0, input.without(e, made.values));
  if (positions) e.give(1, input.without(e, made.positions));
}

}  // namespace

void register_pooling_adaptive(Registry& registry) {
  registry.handler("aten::adaptive_avg_pool1d", adaptive_average);
  registry.handler("aten::adaptive_max_pool1d", adaptive_max);
  registry.handler("aten::adaptive_max_pool2d", adaptive_max);
}

}  // namespace compatcheck::handlers

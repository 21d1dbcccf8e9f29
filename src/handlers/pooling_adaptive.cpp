// Pools to a given size: windows that may differ by a cell.
#include <algorithm>
#include <numeric>

#include "handlers/compute.h"
#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/pooling.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// How one dimension gets its size.
struct Division {
  enum class Kind : std::uint8_t { keep, all, equal, different, open } kind = Kind::keep;  // open: known only at run time
  std::int64_t size = 0, count = 0;                                                        // for `equal` and `different`
};

Division division_of(Emission& e, const Dim& size, const Dim& count) {
  if (provably_equal(size, count)) return {};
  const auto given = count.number();
  if (!given && !e.at_least(9)) e.want("output_size", "the value");
  if (!given) return {Division::Kind::open, 0, 0};
  if (*given < 1) throw Refusal{"PyTorch pools to no " + std::to_string(*given) + " places"};
  if (*given == 1) return {Division::Kind::all, size.number().value_or(0), 1};
  const auto known = size.number();
  if (!known && !e.at_least(9)) e.want("self", "with an output size other than 1, a size");
  if (!known) return {Division::Kind::open, 0, *given};
  return {*known % *given == 0 ? Division::Kind::equal : Division::Kind::different, *known, *given};
}

std::vector<Division> divisions_of(Emission& e, const Shape& spatial) {
  const auto given = e.call.dims("output_size");
  if (!given) e.want("output_size", "the value");
  std::vector<Division> divisions;
  for (std::size_t i = 0; i < spatial.size(); ++i)
    divisions.push_back(division_of(e, spatial[i], given->size() == 1 ? given->front() : given->at(i)));
  return divisions;
}

bool any_open(const std::vector<Division>& divisions) {
  return std::ranges::any_of(divisions, [](const Division& division) { return division.kind == Division::Kind::open; });
}

// ---- Sizes that are known only at run time

// All windows have the length of the longest one; a shorter window repeats its last cell.
struct OpenWindows {
  Value cells, inside;            // (count, kernel)
  Value starts, lengths, kernel;  // start and length of each window; kernel: i64 vector of one
};

OpenWindows open_windows(Emission& e, const Value& size, const Value& count) {
  const Value one = e.integers({1}), places = counting(e, count), rest = difference(e, count, one);
  const Value by = e.build.ints_of(count) ? count : maximum(e, count, one);  // there may be no windows
  OpenWindows made;
  made.starts = quotient(e, product(e, places, size), by);
  const Value ends = quotient(e, sum(e, product(e, sum(e, places, one), size), rest), by);
  made.lengths = difference(e, ends, made.starts);
  made.kernel = sum(e, quotient(e, sum(e, size, rest), by), one);
  const Value reach = e.node("Add", {e.build.unsqueeze(made.starts, {1}), counting(e, made.kernel)});
  made.inside = e.node("Less", {reach, e.build.unsqueeze(ends, {1})});
  made.cells = e.node("Where", {made.inside, reach, e.build.unsqueeze(difference(e, ends, one), {1})});
  return made;
}

// In front of `behind` more dimensions.
Value ahead_of(Emission& e, const Value& value, std::int64_t rank, std::int64_t behind) {
  Ints axes(static_cast<std::size_t>(behind));
  std::iota(axes.begin(), axes.end(), rank);
  return axes.empty() ? value : e.build.unsqueeze(value, axes);
}

Value output_count(Emission& e, std::size_t dimension) {
  const auto given = e.call.dims("output_size");
  if (const auto known = (given->size() == 1 ? given->front() : given->at(dimension)).number()) return e.integers({*known});
  const Value counts = e.int_vector("output_size");
  return given->size() == 1 ? counts : e.build.gather(counts, e.integers({static_cast<std::int64_t>(dimension)}), 0);
}

OpenWindows open_windows_of(Emission& e, const Value& image, std::size_t dimension) {
  return open_windows(e, size_at(e, image, static_cast<std::int64_t>(dimension) + 2), output_count(e, dimension));
}

Value open_average(Emission& e, const Value& value, std::int64_t axis, std::int64_t behind, const OpenWindows& windows) {
  const Value cells = e.build.gather(value, windows.cells, axis);
  const Value counted = e.node("Where", {ahead_of(e, windows.inside, 2, behind), cells, e.scalar(value.dtype, 0)});
  const Value total = e.node("ReduceSum", {counted}, {{"axes", Ints{axis + 1}}, {"keepdims", 0}});
  return e.node("Div", {total, ahead_of(e, e.cast(windows.lengths, value.dtype), 1, behind)});
}

bool all(const std::vector<Division>& divisions, Division::Kind kind) {
  return std::ranges::all_of(divisions, [&](const Division& division) { return division.kind == kind; });
}

// Windows from floor(i · size / count) to ceil((i + 1) · size / count).
Cells cells_of_division(const Division& division) {
  const auto start = [&](std::int64_t i) { return i * division.size / division.count; };
  const auto end = [&](std::int64_t i) { return ((i + 1) * division.size + division.count - 1) / division.count; };
  Cells cells{0, division.count, {}};
  for (std::int64_t i = 0; i < division.count; ++i) cells.kernel = std::max(cells.kernel, end(i) - start(i));
  for (std::int64_t k = 0; k < cells.kernel; ++k)
    for (std::int64_t i = 0; i < division.count; ++i) cells.at.push_back(start(i) + k < end(i) ? start(i) + k : -1);
  return cells;
}

Value lengths(Emission& e, const Division& division, std::int64_t behind, DType dtype) {
  Ints made, dims{division.count};
  for (std::int64_t i = 0; i < division.count; ++i)
    made.push_back(((i + 1) * division.size + division.count - 1) / division.count - i * division.size / division.count);
  dims.resize(static_cast<std::size_t>(behind) + 1, 1);
  return e.build.constant(onnx::make_tensor(dtype, dims, made));
}

// Windows of `way`s that are one pool: all of one size in each dimension; nullopt if a size isn't known or differs.
std::optional<Windows> pool_of(const std::vector<Division>& divisions) {
  Windows windows;
  for (const Division& division : divisions) {
    const bool one_cell = division.kind == Division::Kind::keep;
    if (division.kind == Division::Kind::different || division.kind == Division::Kind::open || (!one_cell && division.size == 0))
      return std::nullopt;
    windows.kernel.push_back(one_cell ? 1 : division.size / division.count);
  }
  windows.stride = windows.kernel;
  windows.begin = windows.end = Ints(divisions.size(), 0);
  windows.dilation = Ints(divisions.size(), 1);
  return windows;
}

Value average(Emission& e, const Value& input, const std::vector<Division>& divisions) {
  const bool native = input.dtype != DType::f64;
  if (native && all(divisions, Division::Kind::all)) return e.node("GlobalAveragePool", {input});
  if (const auto windows = pool_of(divisions); native && windows)
    return e.node("AveragePool", {input}, {{"kernel_shape", windows->kernel}, {"strides", windows->stride}});
  const auto rank = static_cast<std::int64_t>(divisions.size()) + 2;
  Value made = input;
  for (std::int64_t axis = 2; axis < rank; ++axis) {
    const auto dimension = static_cast<std::size_t>(axis) - 2;
    const Division& division = divisions[dimension];
    if (division.kind == Division::Kind::keep) continue;
    if (division.kind == Division::Kind::open) {
      made = open_average(e, made, axis, rank - axis - 1, open_windows_of(e, input, dimension));
      continue;
    }
    if (division.kind == Division::Kind::all) {
      made = e.node("ReduceMean", {made}, {{"axes", Ints{axis}}, {"keepdims", 1}});
      continue;
    }
    made = sum_of_cells(e, made, rank, axis, division.size, cells_of_division(division));
    made = e.node("Div", {made, lengths(e, division, rank - axis - 1, made.dtype)});
  }
  return made;
}

void adaptive_average(Emission& e) {
  const Batched input = with_batch(e, "self", dims_of_name(e));
  const auto divisions = divisions_of(e, input.spatial());
  if (all(divisions, Division::Kind::keep)) return e.give(e.build.again(e.tensor("self")));
  e.give(input.without(e, average(e, input.value, divisions)));
}

// The dimensions of an image as one. Reshape doesn't find out its size beside a batch or channels of 0.
Value flat_images(Emission& e, const Batched& input) {
  const Shape spatial = input.spatial();
  if (spatial.size() == 1) return input.value;
  if (!minds_empty(e, input.shape, {0, 1})) return e.build.reshape(input.value, {0, 0, -1});
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
  axes.erase(axes.begin());  // axes that ArgMax's result lacks
  const Value at = e.node("ArgMax", {flat_images(e, input)}, {{"axis", 2}, {"keepdims", 1}}, DType::i64);
  made.positions = axes.empty() ? at : e.build.unsqueeze(at, axes);
  return made;
}

// Windows of all dimensions: their cells stand last, in one dimension.
MaxPooled open_max(Emission& e, const Batched& input, const std::vector<Division>& divisions, bool positions) {
  const auto dims = static_cast<std::int64_t>(divisions.size());
  Value cells = input.value;
  std::vector<OpenWindows> windows(divisions.size());
  Ints outer{0, 1}, inner;
  std::int64_t at = 2;
  for (std::size_t i = 0; i < divisions.size(); ++i) {
    outer.push_back(at++);
    if (divisions[i].kind == Division::Kind::keep) continue;
    windows[i] = open_windows_of(e, input.value, i);
    cells = e.build.gather(cells, windows[i].cells, outer.back());
    inner.push_back(at++);
  }
  // A size that may be 0 is stated: among constants alone, ONNX Runtime replaces the last part by −1, which can't be inferred
  // then.
  Values parts(outer.size(), e.integers({0})), kernels;
  for (std::size_t i = 0; i < 2; ++i)
    if (may_be_zero(input.shape[i])) parts[i] = size_at(e, input.value, static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < divisions.size(); ++i)
    if (divisions[i].kind == Division::Kind::open) parts[i + 2] = output_count(e, i);
  for (const OpenWindows& each : windows)
    if (each.kernel) kernels.push_back(each.kernel);
  parts.push_back(product_of(e, kernels));
  outer.insert(outer.end(), inner.begin(), inner.end());
  const Value rows = reshape_parts(e, e.build.transpose(cells, outer), parts);
  MaxPooled made{e.node("ReduceMax", {rows}, {{"axes", Ints{dims + 2}}, {"keepdims", 0}}), {}};
  if (!positions) return made;
  Value cell = e.node("ArgMax", {rows}, {{"axis", dims + 2}, {"keepdims", 0}}, DType::i64);
  Value stride = e.integers({1});
  for (std::size_t i = divisions.size(); i-- > 0;) {
    const Value size = size_at(e, input.value, static_cast<std::int64_t>(i) + 2);
    const std::int64_t behind = dims - static_cast<std::int64_t>(i) - 1;
    Value place = ahead_of(e, windows[i].kernel ? windows[i].starts : counting(e, size), 1, behind);
    if (windows[i].kernel) {
      const Value others = e.node("Div", {cell, windows[i].kernel});
      place = e.node("Add", {place, e.node("Sub", {cell, e.node("Mul", {others, windows[i].kernel})})});
      cell = others;
    }
    place = product(e, place, stride);
    made.positions = made.positions ? e.node("Add", {made.positions, place}) : place;
    stride = product(e, stride, size);
  }
  return made;
}

MaxPooled greatest(Emission& e, const Batched& input, const std::vector<Division>& divisions, bool positions) {
  if (all(divisions, Division::Kind::all)) return max_of_all(e, input, positions);
  const bool known = numbers_of(input.spatial()).has_value();
  if (any_open(divisions) || (!known && e.at_least(9) && !pool_of(divisions))) return open_max(e, input, divisions, positions);
  if (const auto windows = pool_of(divisions)) return max_pool(e, input.value, input.spatial(), *windows, positions);
  const auto sizes = numbers_of(input.spatial());
  if (!sizes) e.want("self", "with windows that differ, a size");
  std::vector<Cells> cells;
  for (std::size_t i = 0; i < divisions.size(); ++i)
    cells.push_back(divisions[i].kind == Division::Kind::keep
                        ? cells_of_division(Division{Division::Kind::equal, (*sizes)[i], (*sizes)[i]})
                        : cells_of_division(divisions[i]));
  return max_of_cells(e, input.value, *sizes, std::move(cells), positions);
}

void adaptive_max(Emission& e) {
  const Batched input = with_batch(e, "self", dims_of_name(e));
  const bool positions = e.output_used(1);
  auto divisions = divisions_of(e, input.spatial());
  if (!positions && all(divisions, Division::Kind::keep)) return e.give(e.build.again(e.tensor("self")));
  for (std::size_t i = 0; i < divisions.size(); ++i)
    if (divisions[i].kind == Division::Kind::keep && input.spatial()[i].number() == 1) divisions[i] = {Division::Kind::all, 1, 1};
  const MaxPooled made = greatest(e, input, divisions, positions);
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

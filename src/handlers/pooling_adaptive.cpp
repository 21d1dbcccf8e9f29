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
struct Division {
  enum class Kind : std::uint8_t { keep, all, equal, different } kind = Kind::keep;
  std::int64_t size = 0, count = 0;  // of `equal` and `different`
};

Division division_of(Emission& e, const Dim& size, const Dim& count) {
  if (provably_equal(size, count)) return {};
  const auto given = count.number();
  if (!given) e.want("output_size", "the value");
  if (*given < 1) throw Refusal{"PyTorch pools to no " + std::to_string(*given) + " places"};
  if (*given == 1) return {Division::Kind::all, size.number().value_or(0), 1};
  const auto known = size.number();
  if (!known) e.want("self", "with an output size other than 1, a size");
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
    if (division.kind == Division::Kind::different || (!one_cell && division.size == 0)) return std::nullopt;
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
    const Division& division = divisions[static_cast<std::size_t>(axis) - 2];
    if (division.kind == Division::Kind::keep) continue;
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

MaxPooled greatest(Emission& e, const Batched& input, const std::vector<Division>& divisions, bool positions) {
  if (all(divisions, Division::Kind::all)) return max_of_all(e, input, positions);
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

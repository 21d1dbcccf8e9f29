#include "handlers/windows.h"

#include <algorithm>
#include <limits>

#include "process/spell_count.h"

namespace compatcheck::handlers {

void demand_possible(const Windows& windows) {
  const auto all_at_least = [](const Ints& list, std::int64_t least) {
    return std::ranges::all_of(list, [&](std::int64_t n) { return n >= least && n <= std::int64_t{1} << 31; });
  };
  if (!all_at_least(windows.kernel, 1) || !all_at_least(windows.stride, 1) || !all_at_least(windows.dilation, 1) ||
      !all_at_least(windows.begin, 0) || !all_at_least(windows.end, 0))
    throw Refusal{"PyTorch doesn't support windows of such sizes"};
}

Ints spread(Ints list, std::size_t dims) {
  if (list.size() == 1 && dims > 1) list.resize(dims, list.front());
  if (list.size() != dims)
    throw Refusal{"a list of " + std::to_string(list.size()) + " stands for " + spell_count(dims, "dimension")};
  return list;
}

std::size_t dims_of_name(const Emission& e) {
  const std::string_view op = e.call.op();
  for (std::size_t i = 1; i < op.size(); ++i)
    if (op[i] == 'd' && op[i - 1] >= '1' && op[i - 1] <= '3') return static_cast<std::size_t>(op[i - 1] - '0');
  throw Refusal{std::string(op) + " doesn't say how many dimensions it slides over"};
}

bool all_known(const Shape& shape) {
  return std::ranges::all_of(shape, [](const Dim& dim) { return dim.is_number(); });
}

Ints Windows::pads() const {
  Ints all = begin;
  all.insert(all.end(), end.begin(), end.end());
  return all;
}

Batched with_batch(Emission& e, std::string_view tensor, std::size_t dims) {
  Batched made{e.tensor(tensor), e.shape(tensor), e.shape(tensor).size() == dims + 1};
  if (!made.added) return made;
  made.value = e.build.unsqueeze(made.value, {0});
  made.shape.insert(made.shape.begin(), Dim(1));
  return made;
}

bool Cells::has_gaps() const {
  return std::ranges::any_of(at, [](std::int64_t position) { return position < 0; });
}

Cells cells_of(const Windows& windows, std::size_t dimension, std::int64_t size, std::int64_t count) {
  Cells cells{windows.kernel[dimension], count, {}};
  for (std::int64_t k = 0; k < cells.kernel; ++k)
    for (std::int64_t window = 0; window < count; ++window) {
      const std::int64_t position =
          window * windows.stride[dimension] + k * windows.dilation[dimension] - windows.begin[dimension];
      cells.at.push_back(position < size ? std::max<std::int64_t>(position, -1) : -1);
    }
  return cells;
}

Value gather_cells(Emission& e, const Value& value, std::int64_t rank, std::int64_t axis, std::int64_t size, const Cells& cells) {
  const auto table = [&](const Ints& at) {
    return e.build.constant(onnx::make_tensor(DType::i64, {cells.kernel, cells.count}, at));
  };
  if (!cells.has_gaps()) return e.build.gather(value, table(cells.at), axis);
  Ints at = cells.at;
  if (ir::is_floating(value.dtype)) {  // gaps read a zero behind the last cell: infinities times 0 wouldn't do
    std::ranges::replace(at, -1, size);
    Ints before(static_cast<std::size_t>(rank - axis), 0), after = before;
    after.front() = 1;
    return e.build.gather(pad(e, value, rank, axis, before, after), table(at), axis);
  }
  Ints there;
  for (std::int64_t& position : at) {
    there.push_back(position >= 0);
    position = std::max<std::int64_t>(position, 0);
  }
  const DType wide = value.dtype == DType::i64 ? DType::i64 : DType::i32;
  Ints dims{cells.kernel, cells.count};
  dims.resize(static_cast<std::size_t>(rank - axis) + 1, 1);
  const Value gathered = e.cast(e.build.gather(value, table(at), axis), wide);
  return e.cast(e.node("Mul", {gathered, e.build.constant(onnx::make_tensor(wide, dims, there))}), value.dtype);
}

Value slice_cells(Emission& e, const Value& value, std::int64_t axis, const Windows& windows, std::size_t dimension) {
  Values cells;
  for (std::int64_t k = 0; k < windows.kernel[dimension]; ++k) {
    const std::int64_t begin = k * windows.dilation[dimension];
    const std::int64_t behind = windows.extent(dimension) - 1 - begin;
    const std::int64_t end = behind ? -behind : std::numeric_limits<std::int64_t>::max();
    cells.push_back(e.build.unsqueeze(e.build.slice(value, {begin}, {end}, {axis}, {windows.stride[dimension]}), {axis}));
  }
  return e.build.concat(cells, axis);
}

Value pad(Emission& e, const Value& value, std::int64_t rank, std::int64_t first, const Ints& begin, const Ints& end) {
  const auto none = [](const Ints& ints) { return std::ranges::all_of(ints, [](std::int64_t n) { return n == 0; }); };
  if (none(begin) && none(end)) return value;
  Ints pads(static_cast<std::size_t>(2 * rank), 0);
  for (std::size_t i = 0; i < begin.size(); ++i) {
    pads[static_cast<std::size_t>(first) + i] = begin[i];
    pads[static_cast<std::size_t>(rank + first) + i] = end[i];
  }
  return e.node("Pad", {value}, {{"pads", pads}});
}

}  // namespace compatcheck::handlers

#include "onnx/moves.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace compatcheck::onnx {
namespace {

using Dims = std::vector<std::int64_t>;

std::int64_t product(Dims::const_iterator first, Dims::const_iterator last) {
  return std::accumulate(first, last, std::int64_t{1}, std::multiplies<>());
}

// Elements before and behind an axis.
std::pair<std::int64_t, std::int64_t> around(const Dims& dims, std::int64_t axis) {
  return {product(dims.begin(), dims.begin() + axis), product(dims.begin() + axis + 1, dims.end())};
}

void add_bytes(std::vector<std::uint8_t>& to, const TensorData& from, std::int64_t begin, std::int64_t count) {
  const auto at = from.bytes.begin() + begin;
  to.insert(to.end(), at, at + count);
}

std::int64_t width_of(const TensorData& data) { return static_cast<std::int64_t>(ir::element_bytes(data.dtype)); }

bool alike_but_for(std::int64_t axis, const TensorData& a, const TensorData& b) {
  if (a.dtype != b.dtype || a.dims.size() != b.dims.size()) return false;
  for (std::size_t i = 0; i < a.dims.size(); ++i)
    if (static_cast<std::int64_t>(i) != axis && a.dims[i] != b.dims[i]) return false;
  return true;
}

}  // namespace

Dims row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(1, dims[i]);
  return strides;
}

TensorData window(const TensorData& data, const Dims& dims, const Dims& strides, std::int64_t offset) {
  const std::int64_t width = width_of(data);
  TensorData made{.dtype = data.dtype, .dims = dims, .bytes = {}, .view = {}};
  const std::int64_t count = made.elements();
  made.bytes.reserve(static_cast<std::size_t>(count * width));
  Dims at(dims.size(), 0);
  std::int64_t place = offset;
  for (std::int64_t i = 0; i < count; ++i) {
    add_bytes(made.bytes, data, place * width, width);
    for (std::size_t d = dims.size(); d-- > 0;) {
      place += strides[d];
      if (++at[d] < dims[d]) break;
      place -= strides[d] * dims[d];
      at[d] = 0;
    }
  }
  return made;
}

TensorData gathered(const TensorData& data, const Dims& places, const Dims& shape, std::int64_t axis) {
  const auto [rows, behind] = around(data.dims, axis);
  const std::int64_t width = behind * width_of(data), length = data.dims[static_cast<std::size_t>(axis)];
  TensorData made{.dtype = data.dtype, .dims = shape, .bytes = {}, .view = {}};
  made.dims.insert(made.dims.begin(), data.dims.begin(), data.dims.begin() + axis);
  made.dims.insert(made.dims.end(), data.dims.begin() + axis + 1, data.dims.end());
  for (std::int64_t row = 0; row < rows; ++row)
    for (const std::int64_t place : places) add_bytes(made.bytes, data, (row * length + place) * width, width);
  return made;
}

std::optional<TensorData> joined(std::span<const TensorData* const> parts, std::int64_t axis) {
  const TensorData& first = *parts.front();
  const auto along = static_cast<std::size_t>(axis);
  if (first.dims.size() <= along) return std::nullopt;
  TensorData made{.dtype = first.dtype, .dims = first.dims, .bytes = {}, .view = {}};
  made.dims[along] = 0;
  for (const TensorData* part : parts) {
    if (!alike_but_for(axis, *part, first)) return std::nullopt;
    made.dims[along] += part->dims[along];
  }
  const auto [rows, behind] = around(first.dims, axis);
  for (std::int64_t row = 0; row < rows; ++row)
    for (const TensorData* part : parts) {
      const std::int64_t bytes = part->dims[along] * behind * width_of(first);
      add_bytes(made.bytes, *part, row * bytes, bytes);
    }
  return made;
}

std::optional<Dims> reshaped_dims(const Dims& from, const Dims& to) {
  Dims made = to;
  std::int64_t known = 1;
  const std::int64_t elements = product(from.begin(), from.end());
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i] == 0 && i < from.size()) made[i] = from[i];
    if (made[i] == -1 && !open)
      open = i;
    else if (made[i] < 0 || __builtin_mul_overflow(known, made[i], &known))
      return std::nullopt;
  }
  if (open) {
    if (known == 0) return std::nullopt;
    made[*open] = elements / known;
  }
  const std::int64_t along = open ? made[*open] : 1;
  return known * along == elements ? std::optional(made) : std::nullopt;
}

}  // namespace compatcheck::onnx

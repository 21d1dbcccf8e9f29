// Operators that move elements and change none, on tensors whose bytes are known. `data` and `parts` have no view.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "onnx/model.h"

namespace compatcheck::onnx {

// Strides, in elements, of a tensor that lies row by row.
std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& dims);

// The elements that strides and an offset reach.
TensorData window(const TensorData& data, const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& strides,
                  std::int64_t offset);

// Gathers as Gather does: dims `shape` replace the axis. `places`: from 0 up to its size.
TensorData gathered(const TensorData& data, const std::vector<std::int64_t>& places, const std::vector<std::int64_t>& shape,
                    std::int64_t axis);

// Joins as Concat does; null if dtypes or other dims than the axis differ.
std::optional<TensorData> joined(std::span<const TensorData* const> parts, std::int64_t axis);

// Reshape's dims for `data` with 0 and -1 replaced by sizes; null if they don't fit.
std::optional<std::vector<std::int64_t>> reshaped_dims(const std::vector<std::int64_t>& from,
                                                       const std::vector<std::int64_t>& to);

}  // namespace compatcheck::onnx

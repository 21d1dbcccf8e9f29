// Which cells of one dimension a resized place is made of, and with what weights: PyTorch's arithmetic, in its precision.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/checked_vector.h"

namespace compatcheck::handlers {

enum class Filter : std::uint8_t { nearest, nearest_exact, linear, cubic, lanczos };

struct Resized {
  Filter filter = Filter::nearest;
  bool align_corners = false;
  bool antialias = false;
  bool in_double = false;  // f64; all else is computed in f32
  // nearest: PyTorch's kernel for small images computes in f32; without `_exact` it takes a size that stays, or doubles, as it
  // is, whatever the factor.
  bool small_image = false;
};

// count × places, row by row. A place that needs fewer has weights of 0 on position -1.
struct Taps {
  std::int64_t count = 0;
  ir::CheckedVector<std::int64_t> positions;
  ir::CheckedVector<double> weights;  // empty: 1
};

// `scale`: the factor that the call was given and that coordinates go by.
Taps taps_of(const Resized& resized, std::int64_t size, std::int64_t places, std::optional<double> scale);
// Nearest positions as ONNX Runtime computes them, asymmetric and half_pixel, where not all sizes stay.
std::vector<std::int64_t> resize_positions(Filter filter, std::int64_t size, std::int64_t places, std::optional<double> scale);

}  // namespace compatcheck::handlers

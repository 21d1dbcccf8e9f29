// Source: aten/src/ATen/native/UpSample.h and cpu/UpSampleKernel.cpp of pytorch; upsamplebase.h of onnxruntime.
#include "handlers/interpolation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace compatcheck::handlers {
namespace {

// Input cells for each place.
template <class Float>
Float step(const Resized& resized, std::int64_t size, std::int64_t places, std::optional<double> scale) {
  if (resized.align_corners) return places > 1 ? static_cast<Float>(size - 1) / static_cast<Float>(places - 1) : Float{0};
  if (scale && *scale > 0) return static_cast<Float>(1.0 / *scale);
  return static_cast<Float>(size) / static_cast<Float>(places);
}

// PyTorch rounds positions down in single precision, also those that it computes in double.
template <class Float>
Taps nearest(const Resized& resized, std::int64_t size, std::int64_t places, std::optional<double> scale) {
  Taps taps{1, {}, {}};
  const auto by = step<Float>({}, size, places, scale);
  for (std::int64_t place = 0; place < places; ++place) {
    const Float middle = resized.filter == Filter::nearest_exact ? Float(0.5) : Float(0);
    auto at = static_cast<std::int64_t>(std::floor(static_cast<float>((static_cast<Float>(place) + middle) * by)));
    if (resized.small_image && resized.filter == Filter::nearest && places == 2 * size) at = place / 2;
    if (resized.small_image && resized.filter == Filter::nearest && places == size) at = place;
    taps.positions.push_back(std::min(at, size - 1));
  }
  return taps;
}

template <class Float>
Taps linear_taps(const Resized& resized, std::int64_t size, std::int64_t places, std::optional<double> scale) {
  Taps taps{2, ir::CheckedVector<std::int64_t>(static_cast<std::size_t>(2 * places)),
            ir::CheckedVector<double>(static_cast<std::size_t>(2 * places))};
  const auto by = step<Float>(resized, size, places, scale);
  for (std::int64_t place = 0; place < places; ++place) {
    Float source = resized.align_corners ? by * static_cast<Float>(place)
                                         : std::max(by * (static_cast<Float>(place) + Float(0.5)) - Float(0.5), Float{0});
    if (size == places) source = static_cast<Float>(place);
    const std::int64_t first = std::min(static_cast<std::int64_t>(source), size - 1);
    const Float fraction = std::clamp(source - static_cast<Float>(first), Float{0}, Float{1});
    const auto at = static_cast<std::size_t>(place), next = static_cast<std::size_t>(places + place);
    taps.positions[at] = first;
    taps.positions[next] = size == places ? first : std::min(first + 1, size - 1);
    taps.weights[at] = Float{1} - fraction;
    taps.weights[next] = fraction;
  }
  return taps;
}

double cubic_weight(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

template <class Float>
Taps cubic(const Resized& resized, std::int64_t size, std::int64_t places, std::optional<double> scale) {
  Taps taps{4, ir::CheckedVector<std::int64_t>(static_cast<std::size_t>(4 * places)),
            ir::CheckedVector<double>(static_cast<std::size_t>(4 * places))};
  const auto by = step<Float>(resized, size, places, scale);
  for (std::int64_t place = 0; place < places; ++place) {
    const Float source =
        resized.align_corners ? by * static_cast<Float>(place) : by * (static_cast<Float>(place) + Float(0.5)) - Float(0.5);
    const std::int64_t first = std::min(static_cast<std::int64_t>(std::floor(source)), size - 1);
    const Float fraction = std::clamp(source - static_cast<Float>(first), Float{0}, Float{1});
    for (std::int64_t k = 0; k < 4; ++k) {
      const auto at = static_cast<std::size_t>(k * places + place);
      taps.positions[at] = std::clamp<std::int64_t>(first - 1 + k, 0, size - 1);
      taps.weights[at] = cubic_weight(static_cast<double>(fraction) + 1 - static_cast<double>(k), -0.75);
    }
  }
  return taps;
}

double sinc_of(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

double smooth(Filter filter, double x) {
  if (filter == Filter::linear) return std::max(0.0, 1 - std::abs(x));
  if (filter == Filter::cubic) return cubic_weight(x, -0.5);
  return x >= -3 && x < 3 ? sinc_of(x) * sinc_of(x / 3) : 0;
}

template <class Float>
Taps antialiased(const Resized& resized, std::int64_t size, std::int64_t places, std::optional<double> scale) {
  const double by = step<Float>(resized, size, places, scale);
  const double width = resized.filter == Filter::linear ? 1 : resized.filter == Filter::cubic ? 2 : 3;
  const double support = width * std::max(by, 1.0), inverse = by >= 1 ? 1 / by : 1;
  struct Window {
    std::int64_t first;
    std::vector<double> weights;
  };
  std::vector<Window> windows;
  Taps taps;
  for (std::int64_t place = 0; place < places; ++place) {
    const double center = by * (static_cast<double>(place) + 0.5);
    const std::int64_t first = std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(center - support + 0.5)), 0);
    const std::int64_t behind = std::min(static_cast<std::int64_t>(std::floor(center + support + 0.5)), size);
    Window window{first, {}};
    double total = 0;
    for (std::int64_t i = first; i < behind; ++i) {
      window.weights.push_back(smooth(resized.filter, (static_cast<double>(i) - center + 0.5) * inverse));
      total += window.weights.back();
    }
    for (double& weight : window.weights) weight = total != 0 ? weight / total : weight;
    taps.count = std::max(taps.count, static_cast<std::int64_t>(window.weights.size()));
    windows.push_back(std::move(window));
  }
  for (std::int64_t k = 0; k < taps.count; ++k)
    for (const Window& window : windows) {
      const bool there = k < static_cast<std::int64_t>(window.weights.size());
      taps.positions.push_back(there ? window.first + k : -1);
      taps.weights.push_back(there ? window.weights[static_cast<std::size_t>(k)] : 0);
    }
  return taps;
}

template <class Float>
Taps weighted(const Resized& resized, std::int64_t size, std::int64_t places, std::optional<double> scale) {
  if (resized.antialias) return antialiased<Float>(resized, size, places, scale);
  return resized.filter == Filter::linear ? linear_taps<Float>(resized, size, places, scale)
                                          : cubic<Float>(resized, size, places, scale);
}

}  // namespace

Taps taps_of(const Resized& resized, std::int64_t size, std::int64_t places, std::optional<double> scale) {
  if (resized.filter == Filter::nearest || resized.filter == Filter::nearest_exact)
    return resized.in_double && !resized.small_image ? nearest<double>(resized, size, places, scale)
                                                     : nearest<float>(resized, size, places, scale);
  return resized.in_double ? weighted<double>(resized, size, places, scale) : weighted<float>(resized, size, places, scale);
}

std::vector<std::int64_t> resize_positions(Filter filter, std::int64_t size, std::int64_t places, std::optional<double> scale) {
  const float by = scale ? static_cast<float>(*scale) : static_cast<float>(places) / static_cast<float>(size);
  ir::CheckedVector<std::int64_t> positions;
  for (std::int64_t place = 0; place < places; ++place) {
    const auto x = static_cast<float>(place);
    const float source = by == 1 ? x : filter == Filter::nearest ? x / by : (x + 0.5F) / by - 0.5F;
    const float rounded = filter == Filter::nearest ? std::floor(source) : std::round(source);
    positions.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(rounded), 0, size - 1));
  }
  return positions;
}

}  // namespace compatcheck::handlers

// Discrete Fourier transforms of one dimension, as products with matrices of cosines and sines.
//
// ONNX's DFT (opset 17) isn't used: ONNX Runtime 1.31 loses up to four digits where the number of points is no power of two
// (relative errors of 1e-5 at 100 points, 2e-4 at 1000; a matrix gives 4e-7), and other engines rarely have it.
#pragma once

#include "handlers/emission.h"

namespace compatcheck::handlers {

// How many points a dimension has.
struct Points {
  std::optional<std::int64_t> known;
  Value computed;  // i64 vector of one, where it isn't known
};

// n/2 + 1
Points half_of(Emission& e, const Points& points);

enum class Direction : std::uint8_t { forward, inverse };
// The factor of a transform, if any.
enum class Norm : std::uint8_t { none, by_root, by_points };

// The spectrum has `rank` dimensions. The imaginary part of a real signal may be absent. `axis`, the axis of the transform,
// isn't negative.
struct Transform {
  std::int64_t axis = 0, rank = 1;
  Points points;
  Direction direction = Direction::forward;
  Norm norm = Norm::none;
};

Complex transformed(Emission& e, const Complex& signal, const Transform& transform);
// The first n/2 + 1 values of the spectrum of a real signal.
Complex half_spectrum(Emission& e, const Value& signal, const Transform& transform);
// Returns a real signal of that many points from n/2 + 1 values, from which the others follow.
Value from_half_spectrum(Emission& e, const Complex& spectrum, const Transform& transform);
// Returns the matrix that multiplies n/2 + 1 real parts, then as many imaginary ones, for a signal of n points: [2 · (n/2 + 1),
// n].
Value half_spectrum_matrix(Emission& e, std::int64_t points, Norm norm, DType dtype);

}  // namespace compatcheck::handlers

#include "handlers/fourier.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "handlers/elementary.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

constexpr std::int64_t most_direct = 512;   // points: beyond, two smaller transforms take less memory
constexpr std::int64_t most_points = 4096;  // limit for one matrix: 128 megabytes

enum class Wave : std::uint8_t { cosine, sine };

// A matrix whose element in row t and column k is a wave of t·k/n turns.
struct Matrix {
  Points rows, columns, points;
  Wave wave = Wave::cosine;
  double factor = 1;
  bool doubled = false;  // rows that stand for two values of a spectrum: all but the first, and the last of an even number
};

double factor_of(const Transform& transform) {
  if (!transform.points.known || transform.norm == Norm::none) return 1;
  const auto points = static_cast<double>(*transform.points.known);
  return transform.norm == Norm::by_root ? 1 / std::sqrt(points) : 1 / points;
}

Value constant_matrix(Emission& e, const Matrix& matrix, DType dtype) {
  const std::int64_t rows = *matrix.rows.known, columns = *matrix.columns.known, points = *matrix.points.known;
  Doubles made;
  made.reserve(static_cast<std::size_t>(rows * columns));
  for (std::int64_t t = 0; t < rows; ++t) {
    const bool twice = matrix.doubled && t != 0 && 2 * t != points;
    for (std::int64_t k = 0; k < columns; ++k) {
      const std::int64_t place = t * k % points;
      const double angle = 2 * std::numbers::pi * static_cast<double>(place) / static_cast<double>(points);
      // Exactly 0 where the sine is 0, so that no element contributes where it must not.
      const double wave = matrix.wave == Wave::cosine ? std::cos(angle) : 2 * place == points || place == 0 ? 0 : std::sin(angle);
      made.push_back(matrix.factor * (twice ? 2 : 1) * wave);
    }
  }
  return e.build.constant(onnx::make_tensor(dtype, {rows, columns}, made));
}

Value points_value(Emission& e, const Points& points) { return points.known ? e.integers({*points.known}) : points.computed; }

Value computed_matrix(Emission& e, const Matrix& matrix, DType dtype) {
  if (!e.at_least(11)) throw Refusal{"a Fourier transform of a named size needs opset 11", "use opset 11, or fix the size"};
  const auto marked = e.build.plumbing();  // same role as the constant that it replaces
  const Value points = points_value(e, matrix.points);
  const Value rows = counting(e, points_value(e, matrix.rows)), columns = counting(e, points_value(e, matrix.columns));
  const Value places = e.node("Mod", {e.node("Mul", {e.build.unsqueeze(rows, {1}), columns}), points});
  const auto number = [&](double value) { return e.scalar(DType::f64, value); };
  const Value turns = e.node("Div", {e.cast(places, DType::f64), e.cast(points, DType::f64)});
  const Value angles = e.cast(e.node("Mul", {turns, number(2 * std::numbers::pi)}), dtype);
  Value made = e.node(matrix.wave == Wave::cosine ? "Cos" : "Sin", {angles});
  if (matrix.factor != 1) made = e.node("Mul", {made, e.scalar(dtype, matrix.factor)});
  if (!matrix.doubled) return made;
  const Value both = e.node("Mul", {rows, e.build.integer(2)});
  const Value single = e.node("Or", {e.node("Equal", {rows, e.build.integer(0)}), e.node("Equal", {both, points})});
  const Value shares = e.node("Where", {single, e.scalar(dtype, 1), e.scalar(dtype, 2)});
  return e.node("Mul", {made, e.build.unsqueeze(shares, {1})});
}

Value matrix_of(Emission& e, const Matrix& matrix, DType dtype) {
  const bool known = matrix.rows.known && matrix.columns.known && matrix.points.known;
  if (!known) return computed_matrix(e, matrix, dtype);
  if (*matrix.points.known > most_points)
    throw Refusal{"a Fourier transform of " + std::to_string(*matrix.points.known) +
                      " points, whose factors are too large, has no ONNX form",
                  "transform a number of points that has small factors, a power of two"};
  return constant_matrix(e, matrix, dtype);
}

// The signal times matrices, along the axis: each of its values is a row's sum.
class Multiplied {
 public:
  Multiplied(Emission& e, const Transform& transform) : e_(e), axis_(transform.axis), rank_(transform.rank) {}

  Value operator()(const Value& signal, const Matrix& matrix) const {
    if (axis_ == rank_ - 1) return e_.node("MatMul", {signal, matrix_of(e_, matrix, signal.dtype)});
    const Value turned = e_.build.transpose(matrix_of(e_, matrix, signal.dtype), {1, 0});
    if (axis_ == rank_ - 2) return e_.node("MatMul", {turned, signal});
    Ints order(static_cast<std::size_t>(rank_));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[static_cast<std::size_t>(axis_)], order.back());
    const Value last = e_.node("MatMul", {e_.build.transpose(signal, order), matrix_of(e_, matrix, signal.dtype)});
    return e_.build.transpose(last, order);
  }

 private:
  Emission& e_;
  std::int64_t axis_, rank_;
};

Value normed(Emission& e, const Value& value, const Transform& transform) {
  if (transform.points.known || transform.norm == Norm::none || !value) return value;
  const Value points = e.cast(transform.points.computed, value.dtype);
  return e.node("Div", {value, transform.norm == Norm::by_root ? e.node("Sqrt", {points}) : points});
}

// The sines of one or two points are 0, which would make NaN of infinity.
bool is_real(const Points& points) { return points.known && *points.known <= 2; }

Complex by_matrices(Emission& e, const Complex& signal, const Transform& transform, const Points& columns) {
  const Multiplied multiplied(e, transform);
  Matrix cosines{.rows = transform.points, .columns = columns, .points = transform.points, .factor = factor_of(transform)};
  Matrix sines = cosines;
  sines.wave = Wave::sine;
  if (transform.direction == Direction::forward) sines.factor = -sines.factor;
  if (is_real(transform.points))
    return {multiplied(signal.real, cosines), signal.imag ? multiplied(signal.imag, cosines) : Value{}};
  Value real = multiplied(signal.real, cosines), imag = multiplied(signal.real, sines);
  if (signal.imag) {
    real = subtract(e, real, multiplied(signal.imag, sines));
    imag = add(e, imag, multiplied(signal.imag, cosines));
  }
  return {normed(e, real, transform), normed(e, imag, transform)};
}

// ---- Many points: n = a·b, a transform of a points, factors, one of b points

std::int64_t smaller_factor(std::int64_t points) {
  auto factor = static_cast<std::int64_t>(std::sqrt(static_cast<double>(points)));
  while (points % factor) --factor;
  return factor;
}

bool is_split(const Points& points) { return points.known && *points.known > most_direct && smaller_factor(*points.known) > 1; }

// Turns the element in row t and column k by t·k/n.
Complex turned_by_places(Emission& e, const Complex& x, std::int64_t rows, std::int64_t columns, std::int64_t points,
                         Direction direction) {
  const Matrix cosines{.rows = {rows, {}}, .columns = {columns, {}}, .points = {points, {}}};
  Matrix sines = cosines;
  sines.wave = Wave::sine;
  sines.factor = direction == Direction::forward ? -1 : 1;
  const Value cos = constant_matrix(e, cosines, x.real.dtype), sin = constant_matrix(e, sines, x.real.dtype);
  if (!x.imag) return {multiply(e, x.real, cos), multiply(e, x.real, sin)};
  return {subtract(e, multiply(e, x.real, cos), multiply(e, x.imag, sin)),
          add(e, multiply(e, x.real, sin), multiply(e, x.imag, cos))};
}

Complex each(const Complex& x, const std::function<Value(const Value&)>& part) {
  return {part(x.real), x.imag ? part(x.imag) : Value{}};
}

// Along the last axis. Point t is at [t / b, t % b], value k at [k % a, k / a].
Complex by_two_factors(Emission& e, const Complex& signal, const Transform& transform) {
  const std::int64_t points = *transform.points.known, a = smaller_factor(points), b = points / a, rank = transform.rank;
  Ints split(static_cast<std::size_t>(rank) + 1, 0), joined(static_cast<std::size_t>(rank), 0);
  split[split.size() - 2] = a, split.back() = b, joined.back() = points;
  const Complex placed = each(signal, [&](const Value& part) { return e.build.reshape(part, split); });
  const Transform rows{.axis = rank - 1, .rank = rank + 1, .points = {a, {}}, .direction = transform.direction};
  const Transform columns{.axis = rank, .rank = rank + 1, .points = {b, {}}, .direction = transform.direction};
  const Complex turned = turned_by_places(e, transformed(e, placed, rows), a, b, points, transform.direction);
  Ints order(split.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order.back());
  const double factor = factor_of(transform);
  return each(transformed(e, turned, columns), [&](const Value& part) {
    const Value made = e.build.reshape(e.build.transpose(part, order), joined);
    return factor == 1 ? made : multiply(e, made, e.scalar(made.dtype, factor));
  });
}

Complex with_axis_last(Emission& e, const Complex& signal, Transform transform) {
  if (transform.axis == transform.rank - 1) return by_two_factors(e, signal, transform);
  Ints order(static_cast<std::size_t>(transform.rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(transform.axis)], order.back());
  const auto exchanged = [&](const Value& part) { return e.build.transpose(part, order); };
  transform.axis = transform.rank - 1;
  return each(by_two_factors(e, each(signal, exchanged), transform), exchanged);
}

}  // namespace

Points half_of(Emission& e, const Points& points) {
  if (points.known) return {*points.known / 2 + 1, {}};
  return {std::nullopt, e.node("Add", {e.node("Div", {points.computed, e.integers({2})}), e.integers({1})})};
}

Complex transformed(Emission& e, const Complex& signal, const Transform& transform) {
  if (is_split(transform.points)) return with_axis_last(e, signal, transform);
  return by_matrices(e, signal, transform, transform.points);
}

Complex half_spectrum(Emission& e, const Value& signal, const Transform& transform) {
  if (!is_split(transform.points)) return by_matrices(e, {signal, {}}, transform, half_of(e, transform.points));
  return each(transformed(e, {signal, {}}, transform),
              [&](const Value& part) { return e.build.slice(part, {0}, {*transform.points.known / 2 + 1}, {transform.axis}); });
}

Value half_spectrum_matrix(Emission& e, std::int64_t points, Norm norm, DType dtype) {
  const Transform transform{.points = {points, {}}, .norm = norm};
  Matrix cosines{.rows = {points / 2 + 1, {}},
                 .columns = transform.points,
                 .points = transform.points,
                 .factor = factor_of(transform),
                 .doubled = true};
  Matrix sines = cosines;
  sines.wave = Wave::sine, sines.factor = -sines.factor;
  return e.build.concat({matrix_of(e, cosines, dtype), matrix_of(e, sines, dtype)}, 0);
}

Value from_half_spectrum(Emission& e, const Complex& spectrum, const Transform& transform) {
  if (is_split(transform.points)) {
    const std::int64_t points = *transform.points.known, half = points / 2 + 1;
    Ints places;
    Doubles signs;
    for (std::int64_t k = 0; k < points; ++k) {
      places.push_back(k < half ? k : points - k);
      signs.push_back(k == 0 || 2 * k == points ? 0 : k < half ? 1 : -1);
    }
    Ints dims(static_cast<std::size_t>(transform.rank - transform.axis), 1);
    dims.front() = points;
    const auto whole = [&](const Value& part) { return e.build.gather(part, e.integers(places), transform.axis); };
    Complex both = each(spectrum, whole);
    if (both.imag) both.imag = multiply(e, both.imag, e.build.constant(onnx::make_tensor(both.imag.dtype, dims, signs)));
    return transformed(e, both, transform).real;
  }
  const Multiplied multiplied(e, transform);
  Matrix cosines{.rows = half_of(e, transform.points),
                 .columns = transform.points,
                 .points = transform.points,
                 .factor = factor_of(transform),
                 .doubled = true};
  Matrix sines = cosines;
  sines.wave = Wave::sine;
  if (transform.direction == Direction::inverse) sines.factor = -sines.factor;
  Value made = multiplied(spectrum.real, cosines);
  if (spectrum.imag && !is_real(transform.points)) made = add(e, made, multiplied(spectrum.imag, sines));
  return normed(e, made, transform);
}

}  // namespace compatcheck::handlers

// Interpolation with cells and weights that are computed when the model runs: interpolation.cpp's arithmetic as nodes.
#include <numbers>
#include <numeric>

#include "handlers/elementary.h"
#include "handlers/resize.h"
#include "handlers/sizes.h"
#include "handlers/windows.h"

namespace compatcheck::handlers {
namespace {

DType computed_in(const Job& job) { return job.how.in_double ? DType::f64 : DType::f32; }

// One dimension's sizes as i64 vectors of one, and the input cells for each place.
struct Measures {
  Value size, places, step;
};

Measures measures_of(Emission& e, const Job& job, std::size_t dimension) {
  const DType dtype = computed_in(job);
  const Value size = size_at(e, job.input, static_cast<std::int64_t>(dimension) + 2), places = places_at(e, job, dimension);
  if (!job.how.align_corners) return {size, places, step_at(e, job, dimension, dtype)};
  const Value one = e.integers({1}), gaps = maximum(e, difference(e, places, one), one);
  const Value step = divide(e, e.cast(difference(e, size, one), dtype), e.cast(gaps, dtype));
  return {size, places, where(e, greater(e, places, one), step, e.scalar(dtype, 0))};
}

Value weight_of_cubic(Emission& e, const Value& x, double a) {
  const Value near = plus(e, multiply(e, multiply(e, plus(e, times(e, x, a + 2), -(a + 3)), x), x), 1),
              far = times(e, plus(e, multiply(e, plus(e, multiply(e, plus(e, x, -5), x), 8), x), -4), a);
  return where(e, less(e, x, constant(e, x, 1)), near, far);
}

// sin(πx)/(πx) · sin(πx/3)/(πx/3)
Value weight_of_lanczos(Emission& e, const Value& x) {
  const Value waves =
      multiply(e, node(e, "Sin", times(e, x, std::numbers::pi)), node(e, "Sin", times(e, x, std::numbers::pi / 3)));
  const Value one = constant(e, x, 1), zero = equal(e, x, constant(e, x, 0)), divisor = where(e, zero, one, multiply(e, x, x));
  return where(e, zero, one, divide(e, times(e, waves, 3 / (std::numbers::pi * std::numbers::pi)), divisor));
}

// The weight of a cell at distance x ≥ 0.
Value weight(Emission& e, const Resized& how, const Value& x) {
  if (how.filter == Filter::linear) return plus(e, negated(e, x), 1);
  return how.filter == Filter::cubic ? weight_of_cubic(e, x, how.antialias ? -0.5 : -0.75) : weight_of_lanczos(e, x);
}

// count × places.
struct WeightedCells {
  Value positions, weights;
};

Value as_row(Emission& e, const Value& vector) { return e.build.reshape(vector, {1, -1}); }
Value as_column(Emission& e, const Value& vector) { return e.build.reshape(vector, {-1, 1}); }

// Two or four cells around each place; behind the borders, the outermost cell.
WeightedCells neighbours(Emission& e, const Job& job, const Measures& measures, const Value& place) {
  const DType dtype = computed_in(job);
  const bool linear = job.how.filter == Filter::linear;
  const Value last = difference(e, measures.size, e.integers({1}));
  Value source = job.how.align_corners ? multiply(e, place, measures.step)
                                       : plus(e, multiply(e, plus(e, place, 0.5), measures.step), -0.5),
        taps = as_column(e, linear ? e.integers({0, 1}) : e.integers({-1, 0, 1, 2}));
  const Value shifts = e.cast(taps, dtype);
  if (linear) {  // a size that stays is copied, whatever the factor
    const Value stays = equal(e, measures.size, measures.places);
    source = where(e, stays, place, maximum(e, source, constant(e, source, 0)));
    taps = where(e, stays, e.integers({0}), taps);
  }
  const Value first = minimum(e, node(e, "Floor", source), e.cast(last, dtype));
  const Value after = clamped(e, subtract(e, source, first), constant(e, source, 0), constant(e, source, 1));
  const Value unbounded = sum(e, as_row(e, e.cast(first, DType::i64)), taps);
  return {minimum(e, maximum(e, unbounded, e.integers({0})), last),
          weight(e, job.how, absolute(e, subtract(e, as_row(e, after), shifts)))};
}

// All cells below the filter, which is as wide as the step. Cells beside it are at `size`, with a weight of 0.
WeightedCells below_filter(Emission& e, const Job& job, const Measures& measures, const Value& place) {
  const DType dtype = computed_in(job);
  const auto number = [&](double value) { return e.scalar(dtype, value); };
  const double width = job.how.filter == Filter::linear ? 1 : job.how.filter == Filter::cubic ? 2 : 3;
  const Value stays = equal(e, measures.size, measures.places);  // then PyTorch copies, whatever the factor
  const Value step = where(e, stays, number(1), measures.step), reach = where(e, stays, number(0.5), number(width));
  const Value stretch = maximum(e, step, number(1)), support = times(e, stretch, width);
  const Value center = multiply(e, plus(e, place, 0.5), step);
  const Value first =
      maximum(e, e.cast(node(e, "Floor", plus(e, subtract(e, center, support), 0.5)), DType::i64), e.integers({0}));
  const Value widest = sum(e, e.cast(node(e, "Floor", times(e, support, 2)), DType::i64), e.integers({1}));
  const Value positions = sum(e, as_row(e, first), as_column(e, places_of(e, minimum(e, widest, measures.size))));
  const Value distance = divide(e, subtract(e, plus(e, e.cast(positions, dtype), 0.5), as_row(e, center)), stretch);
  const Value near = logical_and(e, less_equal(e, distance, reach), less(e, negated(e, reach), distance));
  const Value there = logical_and(e, near, less(e, positions, measures.size));
  const Value weights = where(e, there, weight(e, job.how, absolute(e, distance)), number(0));
  Value total = e.node("ReduceSum", {weights}, {{"axes", Ints{0}}, {"keepdims", 1}});
  if (job.places && job.sides.front().scale) total = where(e, equal(e, total, number(0)), number(1), total);
  return {where(e, there, positions, measures.size), divide(e, weights, total)};
}

}  // namespace

Value by_weights(Emission& e, const Job& job, const Value& input, std::size_t dimension) {
  demand_counting(e);
  const auto rank = static_cast<std::int64_t>(job.shape.size()), axis = static_cast<std::int64_t>(dimension) + 2;
  const auto weighted_cells = [&] {
    const auto marked = e.build.plumbing();  // would be constants if the sizes were known
    const Measures measures = measures_of(e, job, dimension);
    const Value place = e.cast(places_of(e, measures.places), computed_in(job));
    return job.how.antialias ? below_filter(e, job, measures, place) : neighbours(e, job, measures, place);
  };
  const WeightedCells cells = weighted_cells();
  Ints behind(static_cast<std::size_t>(rank - axis), 0);
  behind.front() = 1;  // a zero: infinities times 0 wouldn't do
  const Value padded = job.how.antialias ? pad(e, input, rank, axis, Ints(behind.size(), 0), behind) : input;
  Ints inner(static_cast<std::size_t>(rank - axis) - 1);
  std::iota(inner.begin(), inner.end(), 2);
  const Value weighed = multiply(e, e.build.gather(padded, cells.positions, axis), e.build.unsqueeze(cells.weights, inner));
  return e.node("ReduceSum", {weighed}, {{"axes", Ints{axis}}, {"keepdims", 0}});
}

}  // namespace compatcheck::handlers

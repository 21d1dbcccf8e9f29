// Sampling at the places of a grid.
#include "handlers/compute.h"
#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

constexpr double beyond = 10;  // the image lies in [-1, 1]: beyond this no mode reads a cell of it, whatever its size

// PyTorch reflects a place and then looks for the nearest cell, GridSample the other way round: halfway between cells they
// differ.
Value reflected_into_reach(Emission& e, const Value& grid) {
  const Value wide = widened(e, grid);
  const auto number = [&](double value) { return e.scalar(wide.dtype, value); };
  const Value near = e.node("Mod", {wide, number(4)}, {{"fmod", 1}});
  const Value turned =
      e.node("Mod", {e.node("Add", {near, number(5)}), number(4)}, {{"fmod", 1}});  // 0 at the lower edge, 2 at the upper one
  const Value folded = e.node("Sub", {number(1), e.node("Abs", {e.node("Sub", {turned, number(2)})})});
  return e.node("Where", {e.node("Greater", {e.node("Abs", {near}), number(1)}), folded, near});
}

// GridSample takes places for integers, which far ones overflow: PyTorch's edge, border or reflection, which repeats after 4,
// stands for them. Where a place isn't a number PyTorch samples at an edge: the first of pictures, the last of volumes.
Value within_reach(Emission& e, const Value& grid) {
  const bool or_nan = e.variant("clipped_or_nan") || e.variant("wrapped_or_nan");
  const bool reflected = e.variant("reflected") || e.variant("wrapped") || e.variant("wrapped_or_nan");
  const Value near =
      e.variant("reflected") ? reflected_into_reach(e, grid)
      : reflected            ? e.node("Mod", {grid, e.scalar(grid.dtype, 4)}, {{"fmod", 1}})
                  : e.node("Clip", {grid}, {{"min", e.scalar(grid.dtype, -beyond)}, {"max", e.scalar(grid.dtype, beyond)}});
  if (or_nan) return near;
  const double edge = reflected ? 1 : beyond;
  const Value of_nan = e.scalar(near.dtype, e.rank("input") == 4 ? -edge : edge);
  return e.node("Where", {is_nan(e, reflected ? near : grid), of_nan, near});
}

// NaN where a place isn't a finite number, else 0.
Value unplaced(Emission& e, const Value& grid) {
  const Value sum = e.node("ReduceSum", {e.node("Mul", {grid, e.scalar(grid.dtype, 0)})},
                           {{"axes", Ints{e.rank("grid") - 1}}, {"keepdims", 0}});
  return e.build.unsqueeze(sum, {1});
}

// ---- By gathering, where there is no GridSample

enum class Mode : std::uint8_t { linear, nearest, cubic };
enum class Padding : std::uint8_t { zeros, border, reflection };

// One dimension of the picture or volume.
struct Axis {
  Value size;   // i64 vector of one
  Value cells;  // the size as a floating number
  bool may_be_single;
};

Value to_nearest_even(Emission& e, const Value& x) {
  if (e.at_least(11)) return e.node("Round", {x});
  const Value below = e.node("Floor", {x}), rest = subtract(e, x, below);
  const Value half = times(e, below, 0.5), odd = less(e, e.node("Floor", {half}), half);
  const Value up = logical_or(e, greater(e, rest, constant(e, x, 0.5)), logical_and(e, equal(e, rest, constant(e, x, 0.5)), odd));
  return where(e, up, plus(e, below, 1), below);
}

class Sampling {
 public:
  explicit Sampling(Emission& e)
      : e_(e),
        dims_(e.rank("input") - 2),
        mode_(static_cast<Mode>(e.integer("interpolation_mode"))),
        padding_(static_cast<Padding>(e.integer("padding_mode"))),
        aligned_(e.boolean("align_corners")) {}

  // Gathers rows of channels and weights them. Dimensions: first, for each of the image's dimensions, one that counts the cells
  // that a position reads; then those of the grid; the channels last.
  Value sampled() {
    Value inside, index, weight;
    for (std::int64_t dim = 0; dim < dims_; ++dim) {
      const Axis axis = axis_of(dim);
      const Value place = placed(axis, dim);
      const Value cells = cells_of(place, dim);
      const Value at = mode_ == Mode::cubic ? within(cells, axis) : cells;
      const Value valid = logical_and(e_, greater(e_, at, constant(e_, at, -1)), less(e_, at, axis.cells));
      const Value known = e_.cast(where(e_, valid, at, constant(e_, at, 0)), DType::i64);
      index = dim == 0 ? known : e_.node("Add", {product(e_, index, axis.size), known});
      inside = dim == 0 ? valid : logical_and(e_, inside, valid);
      if (mode_ == Mode::nearest) continue;
      const Value share = weights_of(place, dim);
      weight = dim == 0 ? share : multiply(e_, weight, share);
    }
    const Value values = rows_at(index, inside);
    if (mode_ == Mode::nearest) return without_cells(values);
    Ints axes(static_cast<std::size_t>(dims_));
    for (std::int64_t dim = 0; dim < dims_; ++dim) axes[static_cast<std::size_t>(dim)] = dim;
    return e_.node("ReduceSum", {multiply(e_, values, e_.build.unsqueeze(weight, {2 * dims_ + 1}))},
                   {{"axes", axes}, {"keepdims", 0}});
  }

 private:
  Axis axis_of(std::int64_t dim) {
    const Value size = e_.size_of("input", dim + 2);
    return {size, e_.cast(size, wide()), e_.size("input", dim + 2).value_or(1) == 1};
  }

  DType wide() { return e_.dtype("input") == DType::f64 ? DType::f64 : DType::f32; }

  // The grid holds the last dimension first.
  Value placed(const Axis& axis, std::int64_t dim) {
    const Value grid = e_.cast(e_.tensor("grid"), wide());
    const Value place = e_.build.gather(grid, e_.build.integer(dims_ - 1 - dim), dims_ + 1);
    const Value half = times(e_, aligned_ ? plus(e_, axis.cells, -1) : axis.cells, 0.5);
    Value made = multiply(e_, plus(e_, place, 1), half);
    if (!aligned_) made = plus(e_, made, -0.5);
    if (mode_ != Mode::cubic && padding_ != Padding::zeros) return within(made, axis);
    // Volumes have nothing where a place is no finite number.
    return dims_ == 2 ? made : where(e_, is_nan(e_, times(e_, made, 0)), constant(e_, made, -100), made);
  }

  // Moves a place by the rule for places outside. NaN becomes an edge.
  Value within(const Value& place, const Axis& axis) {
    if (padding_ == Padding::zeros) return place;
    const Value last = plus(e_, axis.cells, -1);
    const Value inside = padding_ == Padding::border ? place : reflected(place, axis);
    const Value edge = dims_ == 2 ? constant(e_, place, 0) : last;
    return where(e_, is_nan(e_, inside), edge, clamped(e_, inside, constant(e_, place, 0), last));
  }

  Value reflected(const Value& place, const Axis& axis) {
    const double low = aligned_ ? 0 : -0.5;
    const Value turn = times(e_, aligned_ ? plus(e_, axis.cells, -1) : axis.cells, 2);  // there and back
    const Value from_low = absolute(e_, plus(e_, place, -low));
    const Value rest = subtract(e_, from_low, multiply(e_, e_.node("Floor", {divide(e_, from_low, turn)}), turn));
    const Value made = plus(e_, minimum(e_, rest, subtract(e_, turn, rest)), low);
    if (!aligned_ || !axis.may_be_single) return made;
    return where(e_, e_.node("Equal", {axis.size, e_.integers({1})}), constant(e_, made, 0), made);
  }

  // 0, 1, … in the dimension that counts the cells along `dim`.
  Value offsets(const Doubles& numbers, std::int64_t dim) {
    Ints dims(static_cast<std::size_t>(2 * dims_ + 1), 1);
    dims[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(numbers.size());
    return e_.build.constant(onnx::make_tensor(wide(), dims, numbers));
  }

  Value cells_of(const Value& place, std::int64_t dim) {
    if (mode_ == Mode::nearest) return add(e_, to_nearest_even(e_, place), offsets({0}, dim));
    return add(e_, e_.node("Floor", {place}), offsets(mode_ == Mode::linear ? Doubles{0, 1} : Doubles{-1, 0, 1, 2}, dim));
  }

  Value weights_of(const Value& place, std::int64_t dim) {
    const Value rest = subtract(e_, place, e_.node("Floor", {place}));
    if (mode_ == Mode::linear) return add(e_, multiply(e_, rest, offsets({-1, 1}, dim)), offsets({1, 0}, dim));
    // Cubic convolution with A = -0.75: a polynomial of the distance to each of the four cells.
    static constexpr double a = -0.75;
    Value made = offsets({a, a + 2, -(a + 2), -a}, dim);
    for (const Doubles& coefficients : {Doubles{-2 * a, -(a + 3), 2 * a + 3, a}, Doubles{a, 0, -a, 0}, Doubles{0, 1, 0, 0}})
      made = add(e_, multiply(e_, made, rest), offsets(coefficients, dim));
    return made;
  }

  // 0 outside.
  Value rows_at(Value index, const Value& inside) {
    const Value input = e_.cast(e_.tensor("input"), wide());
    Ints channels_last{0};
    for (std::int64_t dim = 0; dim < dims_; ++dim) channels_last.push_back(dim + 2);
    channels_last.push_back(1);
    const Value rows = reshape_parts(e_, e_.build.transpose(input, channels_last), {e_.integers({-1}), e_.size_of("input", 1)});
    if (e_.size("input", 0) != 1) {
      Values sizes;
      for (std::int64_t dim = 0; dim < dims_; ++dim) sizes.push_back(e_.size_of("input", dim + 2));
      const Value firsts = product(e_, places_of(e_, e_.size_of("input", 0)), product_of(e_, sizes));
      Ints axes(static_cast<std::size_t>(dims_));
      for (std::int64_t dim = 0; dim < dims_; ++dim) axes[static_cast<std::size_t>(dim)] = dim + 1;
      index = e_.node("Add", {index, e_.build.unsqueeze(firsts, axes)});
    }
    const Value values = e_.build.gather(rows, index, 0);
    return where(e_, e_.build.unsqueeze(inside, {2 * dims_ + 1}), values, constant(e_, values, 0));
  }

  Value without_cells(const Value& values) {
    Ints axes(static_cast<std::size_t>(dims_));
    for (std::int64_t dim = 0; dim < dims_; ++dim) axes[static_cast<std::size_t>(dim)] = dim;
    return e_.build.squeeze(values, axes);
  }

  Emission& e_;
  std::int64_t dims_;
  Mode mode_;
  Padding padding_;
  bool aligned_;
};

void sample_by_gathering(Emission& e) {
  Ints channels_second{0, e.rank("input") - 1};
  for (std::int64_t dim = 1; dim < e.rank("input") - 1; ++dim) channels_second.push_back(dim);
  e.give(e.build.transpose(Sampling(e).sampled(), channels_second));
}

void grid_sampler(Emission& e) {
  static constexpr const char* modes[] = {"bilinear", "nearest", "bicubic"};
  static constexpr const char* newer[] = {"linear", "nearest", "cubic"};
  static constexpr const char* paddings[] = {"zeros", "border", "reflection"};
  const std::int64_t mode = e.integer("interpolation_mode"), padding = e.integer("padding_mode");
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) throw Refusal{"the interpolation or padding mode is out of range"};
  if (mode == 2 && e.rank("input") == 5) throw Refusal{"PyTorch samples volumes linearly or at the nearest cell only"};
  if (e.variant("gathered")) return sample_by_gathering(e);
  const Value grid = e.tensor("grid");
  const bool plain =
      !e.variant("reflected") && !e.variant("clipped_or_zero") &&
      e.build.compact("the result may differ from PyTorch's where the grid has NaN or values far outside of -1 … 1");
  const Value sampled = e.node("GridSample", {e.tensor("input"), plain ? grid : within_reach(e, grid)},
                               {{"mode", e.opset_at_least(20) ? newer[mode] : modes[mode]},
                                {"padding_mode", paddings[padding]},
                                {"align_corners", e.boolean("align_corners")}});
  if (plain) return e.give(sampled);
  // PyTorch gives NaN there, by the weights of the cells around; where it looks at the nearest cell or at volumes, 0.
  if (e.variant("clipped_or_nan") || e.variant("wrapped_or_nan")) return e.give(e.node("Add", {sampled, unplaced(e, grid)}));
  if (!e.variant("clipped_or_zero")) return e.give(sampled);
  e.give(e.node("Where", {is_nan(e, unplaced(e, grid)), e.scalar(sampled.dtype, 0), sampled}));
}

}  // namespace

void register_vision_grid_sample(Registry& registry) {
  for (const char* op : {"aten::grid_sampler", "aten::grid_sampler_2d"})
    registry.handler(op, grid_sampler,
                     {"clipped_or_nan", "clipped_or_zero", "gathered", "reflected", "wrapped", "wrapped_or_nan"});
  registry.handler("aten::grid_sampler_3d", grid_sampler, {"clipped_or_zero", "gathered", "reflected", "wrapped"});
}

}  // namespace compatcheck::handlers

// Sampling at the places of a grid.
#include "handlers/compute.h"
#include "handlers/elementary.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

constexpr double beyond = 10;  // from -1 to 1 lies the picture: from here on no mode reaches it, of whatever size it is

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

void grid_sampler(Emission& e) {
  static constexpr const char* modes[] = {"bilinear", "nearest", "bicubic"};
  static constexpr const char* newer[] = {"linear", "nearest", "cubic"};
  static constexpr const char* paddings[] = {"zeros", "border", "reflection"};
  const std::int64_t mode = e.integer("interpolation_mode"), padding = e.integer("padding_mode");
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) throw Refusal{"the interpolation or padding mode is out of range"};
  if (mode == 2 && e.rank("input") == 5) throw Refusal{"PyTorch samples volumes linearly or at the nearest cell only"};
  const Value grid = e.tensor("grid");
  const Value sampled = e.node("GridSample", {e.tensor("input"), within_reach(e, grid)},
                               {{"mode", e.at_least(20) ? newer[mode] : modes[mode]},
                                {"padding_mode", paddings[padding]},
                                {"align_corners", e.boolean("align_corners")}});
  // PyTorch gives NaN there, by the weights of the cells around; where it looks at the nearest cell or at volumes, 0.
  if (e.variant("clipped_or_nan") || e.variant("wrapped_or_nan")) return e.give(e.node("Add", {sampled, unplaced(e, grid)}));
  if (!e.variant("clipped_or_zero")) return e.give(sampled);
  e.give(e.node("Where", {is_nan(e, unplaced(e, grid)), e.scalar(sampled.dtype, 0), sampled}));
}

}  // namespace

void register_vision_grid_sample(Registry& registry) {
  for (const char* op : {"aten::grid_sampler", "aten::grid_sampler_2d"})
    registry.handler(op, grid_sampler, {"clipped_or_nan", "clipped_or_zero", "reflected", "wrapped", "wrapped_or_nan"});
  registry.handler("aten::grid_sampler_3d", grid_sampler, {"clipped_or_zero", "reflected", "wrapped"});
}

}  // namespace compatcheck::handlers

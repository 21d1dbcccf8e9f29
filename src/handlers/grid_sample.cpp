// Sampling at the places of a grid.
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

void grid_sampler(Emission& e) {
  static constexpr const char* modes[] = {"bilinear", "nearest", "bicubic"};
  static constexpr const char* newer[] = {"linear", "nearest", "cubic"};
  static constexpr const char* paddings[] = {"zeros", "border", "reflection"};
  const std::int64_t mode = e.integer("interpolation_mode"), padding = e.integer("padding_mode");
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) throw Refusal{"the interpolation or padding mode is out of range"};
  if (mode == 2 && e.rank("input") == 5) throw Refusal{"PyTorch samples volumes linearly or at the nearest cell only"};
  e.give(e.node("GridSample", {e.tensor("input"), e.tensor("grid")},
                {{"mode", e.at_least(20) ? newer[mode] : modes[mode]}, {"padding_mode", paddings[padding]}, {"align_corners", e.boolean("align_corners")}}));
}

}  // namespace

void register_grid_sample(Registry& registry) {
  for (const char* op : {"aten::grid_sampler", "aten::grid_sampler_2d", "aten::grid_sampler_3d"}) registry.handler(op, grid_sampler);
}

}  // namespace compatcheck::handlers

// Interpolation to a size or by a scale, sampling at a grid: facts.
#include <cmath>

#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

// floor(size · scale), computed as torch does, in double; of a named size where the scale is a fraction of 2^k.
Dim scaled(const Dim& size, double scale) {
  if (!(scale > 0) || scale > 1e6) return Dim::unknown();
  if (size.is_number()) return Dim(static_cast<std::int64_t>(static_cast<double>(*size.number()) * scale));
  std::int64_t denominator = 1;
  while (denominator <= 1024 && scale * static_cast<double>(denominator) != std::floor(scale * static_cast<double>(denominator))) denominator *= 2;
  if (denominator > 1024) return Dim::unknown();
  return floor_div(size * Dim(static_cast<std::int64_t>(scale * static_cast<double>(denominator))), denominator);
}

std::optional<std::vector<double>> scales_of(const Call& call, const char* argument, std::size_t count) {
  if (call.fact(argument).list()) {
    const auto scales = call.floats(argument);
    return scales && scales->size() == 1 ? std::vector<double>(count, scales->front()) : scales;
  }
  const auto scale = call.number(argument);
  return scale ? std::optional(std::vector<double>(count, *scale)) : std::nullopt;
}

Fact resized(const Call& call, const TensorFact& input, const char* size_argument, const char* scale_argument) {
  if (!input.shape || input.shape->size() < 3) return tensor_fact(input.dtype, std::nullopt);
  Shape shape = *input.shape;
  const std::size_t dims = shape.size() - 2;
  const auto sizes = call.is_none(size_argument) ? std::nullopt : std::optional(sizes_of(call.dims(size_argument), dims));
  const auto scales = call.is_none(size_argument) ? scales_of(call, scale_argument, dims) : std::nullopt;
  for (std::size_t i = 0; i < dims; ++i) {
    Dim& size = shape[i + 2];
    if (sizes) size = (*sizes)[i];
    else size = scales && scales->size() == dims ? scaled(size, (*scales)[i]) : Dim::unknown();
  }
  return tensor_fact(input.dtype, std::move(shape));
}

Facts upsample(const Call& call) {
  return {resized(call, tensor_of(call, call.has("input") ? "input" : "self"), "output_size", "scale_factors")};
}
Facts interpolate(const Call& call) { return {resized(call, tensor_of(call, "input"), "size", "scale_factor")}; }

// Batch and channels of the input, places of the grid.
Facts grid_sampler(const Call& call) {
  const TensorFact &input = tensor_of(call, "input"), &grid = tensor_of(call, "grid");
  if (!grid.shape || grid.shape->size() < 3) return {tensor_fact(input.dtype, std::nullopt)};
  Shape shape{agreed_dim(size_at(input, 0), size_at(grid, 0)), size_at(input, 1)};
  shape.insert(shape.end(), grid.shape->begin() + 1, grid.shape->end() - 1);
  return {tensor_fact(input.dtype, std::move(shape))};
}

}  // namespace

void register_resize(Registry& registry) {
  for (const char* op : {"aten::upsample_nearest1d", "aten::upsample_nearest2d", "aten::upsample_nearest3d", "aten::_upsample_nearest_exact1d",
                         "aten::_upsample_nearest_exact2d", "aten::_upsample_nearest_exact3d", "aten::upsample_linear1d",
                         "aten::upsample_bilinear2d", "aten::upsample_bicubic2d", "aten::upsample_trilinear3d",
                         "aten::_upsample_bilinear2d_aa", "aten::_upsample_bicubic2d_aa", "aten::_upsample_lanczos2d_aa"})
    registry.facts(op, upsample);
  registry.facts("aten::__interpolate", interpolate);
  for (const char* op : {"aten::grid_sampler", "aten::grid_sampler_2d", "aten::grid_sampler_3d", "aten::cudnn_grid_sampler"})
    registry.facts(op, grid_sampler);
}

}  // namespace compatcheck::symbolic

// Interpolation to a size or by a scale: facts, conditions, and what PyTorch demands.
#include <cmath>

#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

// floor(size · scale), computed as torch does, in double; of a named size where the scale is a fraction of 2^k.
Dim scaled(const Dim& size, double scale) {
  if (!(scale > 0) || scale > 1e6) return Dim::unknown();
  if (size.is_number()) {
    const double scaled = static_cast<double>(*size.number()) * scale;
    return std::abs(scaled) < 9e15 ? Dim(static_cast<std::int64_t>(scaled)) : Dim::unknown();
  }
  std::int64_t denominator = 1;
  while (denominator <= 1024 && scale * static_cast<double>(denominator) != std::floor(scale * static_cast<double>(denominator)))
    denominator *= 2;
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
    if (sizes)
      size = (*sizes)[i];
    else
      size = scales && scales->size() == dims ? scaled(size, (*scales)[i]) : Dim::unknown();
  }
  return tensor_fact(input.dtype, std::move(shape));
}

Facts upsample(const Call& call) {
  return {resized(call, tensor_of(call, call.has("input") ? "input" : "self"), "output_size", "scale_factors")};
}
Facts interpolate(const Call& call) { return {resized(call, tensor_of(call, "input"), "size", "scale_factor")}; }

// ---- Conditions

// Matrices and positions are computed while converting: from and to sizes that are numbers.
Verdict resized_sizes_known(const Call& call) {
  const Verdict input = sizes_known(call.fact(call.has("input") ? "input" : "self"), "the input", 2, 5);
  return input.truth == Truth::yes ? sizes_known(call.facts().of(call.node().output(0)), "the result", 2, 5) : input;
}

// ---- Demands

// Sizes or scales, one a dimension that is resized, and something left in each.
Verdict resizing_fits(const Call& call, const char* input, const char* sizes, const char* scales, std::size_t dims) {
  Demands demands;
  demands.rank(call, input, dims + 2, dims + 2);
  for (const char* name : {sizes, scales})
    if (const auto members = call.list(name); members && members->size() != dims)
      demands.broken("the length of " + std::string(name) + " must be " + std::to_string(dims));
  for (const double scale : scales_of(call, scales, 1).value_or(std::vector<double>()))
    if (!(scale > 0)) demands.broken(std::string(scales) + " must be greater than 0");
  const auto* result = call.facts().of(call.node().output(0)).tensor();
  if (!result || !result->shape) return demands.verdict();
  for (std::size_t i = 2; i < result->shape->size(); ++i)
    demands.at_least((*result->shape)[i], 1, "dimension " + std::to_string(i) + " of the result");
  return demands.verdict();
}

// "1d", "2d" or "3d" stands in the name.
Verdict upsampling_fits(const Call& call) {
  const auto digit = call.op().find_last_of("123");
  if (digit == std::string_view::npos) return Demands().verdict();
  return resizing_fits(call, call.has("input") ? "input" : "self", "output_size", "scale_factors",
                       static_cast<std::size_t>(call.op()[digit] - '0'));
}

Verdict interpolation_fits(const Call& call) {
  const auto rank = call.rank("input");
  return rank ? resizing_fits(call, "input", "size", "scale_factor", *rank < 3 ? 1 : *rank - 2) : Demands().verdict();
}

}  // namespace

void register_resize(Registry& registry) {
  for (const char* op :
       {"aten::upsample_nearest1d", "aten::upsample_nearest2d", "aten::upsample_nearest3d", "aten::_upsample_nearest_exact1d",
        "aten::_upsample_nearest_exact2d", "aten::_upsample_nearest_exact3d", "aten::upsample_linear1d",
        "aten::upsample_bilinear2d", "aten::upsample_bicubic2d", "aten::upsample_trilinear3d", "aten::_upsample_bilinear2d_aa",
        "aten::_upsample_bicubic2d_aa", "aten::_upsample_lanczos2d_aa"})
    registry.facts(op, upsample);
  registry.facts("aten::__interpolate", interpolate);
  registry.condition("resized_sizes_known", resized_sizes_known);
  registry.condition("upsampling_fits", upsampling_fits);
  registry.condition("interpolation_fits", interpolation_fits);
}

}  // namespace compatcheck::symbolic

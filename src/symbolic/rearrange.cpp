// Padding, rotation, pixels and channels moved about: facts, and what PyTorch demands.
#include <algorithm>

#include "symbolic/demands.h"
#include "symbolic/emptiness.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

const TensorFact& self_of(const Call& call) { return tensor_of(call, "self"); }

// (before, after) pairs, the last dimension first; named for some operators.
Facts pad(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto amounts = call.dims(call.has("pad") ? "pad" : "padding");
  if (!self.shape || !amounts || amounts->size() % 2 || amounts->size() / 2 > self.shape->size())
    return {tensor_fact(self.dtype, self.shape ? std::optional(unknown_sizes(self.shape->size())) : std::nullopt)};
  Shape shape = *self.shape;
  for (std::size_t i = 0; i < amounts->size() / 2; ++i) {
    Dim& size = shape[shape.size() - 1 - i];
    size = size + (*amounts)[2 * i] + (*amounts)[2 * i + 1];
  }
  return {tensor_fact(self.dtype, std::move(shape))};
}

Facts rot90(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto turns = call.integer("k");
  const auto dims = call.ints("dims");
  if (!self.shape || !turns || !dims || dims->size() != 2) return {tensor_fact(self.dtype, std::nullopt)};
  const auto a = wrap_dim((*dims)[0], self.shape->size()), b = wrap_dim((*dims)[1], self.shape->size());
  if (!a || !b || self.shape->size() < 2) return {tensor_fact(self.dtype, std::nullopt)};
  if (*a == *b) throw Impossible{"the two dimensions of a rotation are the same"};
  Shape shape = *self.shape;
  if (*turns % 2 != 0) std::swap(shape[*a], shape[*b]);
  return {tensor_fact(self.dtype, std::move(shape))};
}

Facts shuffled(const Call& call, const char* factor_argument, bool enlarge) {
  const TensorFact& self = self_of(call);
  const auto factor = call.dim(factor_argument);
  if (!self.shape || self.shape->size() < 3 || !factor) return {tensor_fact(self.dtype, std::nullopt)};
  Shape shape = *self.shape;
  // PyTorch leaves an empty tensor as it is.
  if (!enlarge && std::ranges::any_of(shape, [](const Dim& dim) { return dim.number() == 0; }))
    return {tensor_fact(self.dtype, std::move(shape))};
  Dim &channels = shape[shape.size() - 3], &height = shape[shape.size() - 2], &width = shape.back();
  if (enlarge) {
    channels = floor_div(channels, *factor * *factor);
    height = height * *factor;
    width = width * *factor;
  } else {
    channels = channels * *factor * *factor;
    height = floor_div(height, *factor);
    width = floor_div(width, *factor);
  }
  return {tensor_fact(self.dtype, std::move(shape))};
}

Facts pixel_shuffle(const Call& call) { return shuffled(call, "upscale_factor", true); }
Facts pixel_unshuffle(const Call& call) { return shuffled(call, "downscale_factor", false); }

Facts combinations(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto r = call.integer("r");
  const auto again = call.boolean("with_replacement");
  const auto n = size_at(self, 0).number();
  if (!r || *r < 1 || *r > 16) return {tensor_fact(self.dtype, std::nullopt)};
  Dim rows = Dim::unknown();
  if (n && again && *n < 1'000'000) {
    const std::int64_t from = *again ? *n + *r - 1 : *n;
    rows = from >= *r ? Dim(1) : Dim(0);
    for (std::int64_t i = 1; i <= *r && rows.number() != 0; ++i) rows = floor_div(rows * Dim(from - *r + i), i);
    if (*n == 0) rows = 0;
  }
  return {tensor_fact(self.dtype, Shape{rows, *r})};
}

// Powers of a vector as columns.
Facts vander(const Call& call) {
  const TensorFact& x = tensor_of(call, "x");
  const bool whole = x.dtype && !ir::is_floating(*x.dtype) && !ir::is_complex(*x.dtype);
  const auto dtype = whole ? std::optional(ir::DType::i64) : x.dtype;
  if (!x.shape) return {tensor_fact(dtype, std::nullopt)};
  Shape shape = x.shape->empty() ? Shape{1} : *x.shape;  // a number counts as one sample
  shape.push_back(call.is_none("N") ? shape.back() : call.dim("N").value_or(Dim::unknown()));
  return {tensor_fact(dtype, std::move(shape))};
}

Facts covariance(const Call& call, bool floats) {
  const TensorFact& self = self_of(call);
  auto dtype = self.dtype ? std::optional(to_float(*self.dtype)) : std::nullopt;
  if (floats && dtype && !ir::is_complex(*dtype) && !call.is_none("aweights")) {
    const auto weights = call.dtype_of("aweights");
    dtype = weights ? promote_types(*dtype, *weights) : std::nullopt;
  }
  if (!self.shape) return {tensor_fact(dtype, std::nullopt)};
  const Dim variables = self.shape->size() < 2 ? Dim(1) : (*self.shape)[0];  // sizes of 1 are squeezed
  if (!variables.is_number()) return {tensor_fact(dtype, std::nullopt)};
  return {tensor_fact(dtype, variables.number() == 1 ? Shape{} : Shape(2, variables))};
}

// A weight for each observation.
Facts cov(const Call& call) {
  Demands demands;
  demands.rank(call, "self", 0, 2);
  const TensorFact& self = self_of(call);
  const Dim observations = !self.shape ? Dim::unknown() : self.shape->empty() ? Dim(1) : self.shape->back();
  for (const char* weights : {"fweights", "aweights"}) {
    if (call.is_none(weights)) continue;
    demands.rank(call, weights, 0, 1);
    if (const auto& shape = tensor_of(call, weights).shape)
      demands.equal(product(*shape), observations, "the number of " + std::string(weights));
  }
  demands.hold();
  return covariance(call, true);
}
Facts corrcoef(const Call& call) { return covariance(call, false); }

// ---- Demands

Verdict pixels_fit(const Call& call) {
  Demands demands;
  const TensorFact& self = self_of(call);
  if (!self.shape) return demands.verdict();
  demands.at_least(Dim(static_cast<std::int64_t>(self.shape->size())), 3, "the rank of self");
  if (self.shape->size() < 3) return demands.verdict();
  const bool enlarge = call.has("upscale_factor");
  const Dim factor = call.dim(enlarge ? "upscale_factor" : "downscale_factor").value_or(Dim::unknown());
  if (enlarge) return demands.multiple(self.shape->end()[-3], factor * factor, "the number of channels"), demands.verdict();
  for (const int i : {2, 1})
    demands.multiple(self.shape->end()[-i], factor,
                     "dimension " + std::to_string(self.shape->size() - static_cast<std::size_t>(i)) + " of self");
  return demands.verdict();
}

Verdict channels_shuffle(const Call& call) {
  Demands demands;
  demands.multiple(size_at(self_of(call), 1), call.dim("groups").value_or(Dim::unknown()), "the number of channels");
  return demands.verdict();
}

// What a circular pad repeats comes from what its negative widths leave; PyTorch copies the margins from each other, or from
// memory that nothing filled, if that is less.
void circle_fits(const std::vector<const Fact*>& widths, const Shape& shape, Demands& demands) {
  for (std::size_t i = 0; i + 1 < widths.size(); i += 2) {
    std::int64_t most = 0, cropped = 0;
    for (const std::size_t side : {i, i + 1}) {
      const auto* width = widths[side]->number();
      if (!width || !width->integer || !width->integer->is_number()) continue;
      most = std::max(most, *width->integer->number());
      cropped += std::min<std::int64_t>(*width->integer->number(), 0);
    }
    if (most > 0 && cropped < 0)
      demands.at_least(shape[shape.size() - 1 - i / 2] + Dim(cropped), most, "what a negative width leaves of a dimension");
  }
}

// Widths are pairs, for the last dimensions. What stands in the margin comes from inside of pictures alone, with a batch or
// without.
Verdict widths_fit(const Call& call) {
  Demands demands;
  const auto widths = call.list("pad");
  const auto& shape = tensor_of(call, "self").shape;
  if (!widths) return demands.verdict();
  const std::size_t padded = widths->size() / 2;
  if (widths->size() % 2) demands.broken("the number of pad widths must be even");
  if (shape && padded > shape->size()) demands.broken("there must be no more than two pad widths for each dimension");
  const auto mode = call.has("mode") ? call.string("mode") : std::nullopt;
  if (!mode || *mode == "constant") return demands.verdict();
  const std::string what =
      *mode +
      " pads the last dimension of a tensor of rank 2 or 3, the last two of rank 3 or 4, or the last three of rank 4 or 5";
  if (padded < 1 || padded > 3) demands.broken(what);
  if (shape && shape->size() != padded + 1 && shape->size() != padded + 2) demands.broken(what);
  if (!shape || padded > shape->size() || *mode == "replicate") return demands.verdict();
  for (std::size_t i = 0; i < 2 * padded; ++i) {
    const auto* width = (*widths)[i]->number();
    const Dim& size = (*shape)[shape->size() - 1 - i / 2];
    if (width && width->integer) demands.at_most(*width->integer, *mode == "reflect" ? size - Dim(1) : size, "a pad width");
  }
  if (*mode == "circular") circle_fits(*widths, *shape, demands);
  return demands.verdict();
}

Verdict may_have_no_elements(const Call& call) {
  const auto& shape = tensor_of(call, "self").shape;
  const bool may = shape && std::ranges::any_of(*shape, [](const Dim& size) { return !provably_at_least_if_empty(size, 1); });
  return {.truth = may ? Truth::yes : Truth::no, .message = may ? "" : "no dimension may be empty"};
}

}  // namespace

void register_rearrange(Registry& registry) {
  for (const char* op :
       {"aten::pad", "aten::constant_pad_nd", "aten::reflection_pad1d", "aten::reflection_pad2d", "aten::reflection_pad3d",
        "aten::replication_pad1d", "aten::replication_pad2d", "aten::replication_pad3d", "aten::_pad_circular"})
    registry.facts(op, pad);
  registry.facts("aten::rot90", rot90);
  registry.condition("may_have_no_elements", may_have_no_elements);
  registry.condition("pixels_fit", pixels_fit);
  registry.condition("widths_fit", widths_fit);
  registry.condition("channels_shuffle", channels_shuffle);
  registry.facts("aten::pixel_shuffle", pixel_shuffle);
  registry.facts("aten::pixel_unshuffle", pixel_unshuffle);
  registry.facts("aten::combinations", combinations);
  for (const char* op : {"aten::vander", "aten::linalg_vander"}) registry.facts(op, vander);
  registry.facts("aten::cov", cov);
  registry.facts("aten::corrcoef", corrcoef);
}

}  // namespace compatcheck::symbolic

// Elements moved about or repeated: facts, and what PyTorch demands.
#include <algorithm>

#include "symbolic/demands.h"
#include "symbolic/families.h"

namespace compatcheck::symbolic {
namespace {

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

Facts repeat_interleave(const Call& call) {
  const TensorFact& self = self_of(call);
  if (call.fact("repeats").tensor()) {
    Demands demands;
    demands.rank(call, "repeats", call.has("self") ? 0 : 1, 1);
    if (const auto dtype = call.dtype_of("repeats"); dtype && !ir::is_integral(*dtype))
      demands.broken("repeats must be integers");
    demands.hold();
  }
  const auto total = call.is_none("output_size") ? std::nullopt : call.dim("output_size");
  if (!call.has("self")) return {tensor_fact(call.dtype_of("repeats"), Shape{total.value_or(Dim::unknown())})};
  const bool flat = call.is_none("dim");
  if (!self.shape) return {tensor_fact(self.dtype, flat ? std::optional(unknown_sizes(1)) : std::nullopt)};
  Shape shape = flat ? Shape{product(*self.shape)} : *self.shape;
  const auto dim = flat ? std::optional<std::size_t>(0) : dim_index(call, "dim", self);
  if (shape.empty()) throw Impossible{"a tensor without dimensions has none to repeat along; pass dim=None"};
  if (!dim) return {tensor_fact(self.dtype, std::nullopt)};
  Dim& size = shape[*dim];
  const TensorFact* repeats = call.tensor("repeats");
  if (repeats) demand_broadcast(repeats->shape, {size}, "'repeats'");
  if (const auto each = call.dim("repeats"); each && (!repeats || (repeats->shape && product(*repeats->shape).number() == 1)))
    size = size * *each;
  else if (repeats && repeats->contents) {
    size = 0;
    for (const Dim& times : *repeats->contents) size = size + times;
  } else
    size = Dim::unknown();
  if (total) {
    demand_equal(*total, size, "output_size");
    size = *total;
  }
  return {tensor_fact(self.dtype, std::move(shape))};
}

std::optional<Shape> tiled(const TensorFact& self, const std::optional<std::vector<Dim>>& repeats) {
  if (!self.shape || !repeats) return std::nullopt;
  const std::size_t rank = std::max(self.shape->size(), repeats->size());
  Shape shape(rank, Dim(1));
  std::copy_backward(self.shape->begin(), self.shape->end(), shape.end());
  for (std::size_t i = 0; i < repeats->size(); ++i) {
    Dim& size = shape[rank - repeats->size() + i];
    size = size * (*repeats)[i];
  }
  return shape;
}

Facts repeat(const Call& call) { return {tensor_fact(self_of(call).dtype, tiled(self_of(call), call.dims("repeats")))}; }
Facts tile(const Call& call) { return {tensor_fact(self_of(call).dtype, tiled(self_of(call), call.dims("dims")))}; }
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

Verdict dim_exists(const Call& call) {
  Demands demands;
  const auto dim = call.integer("dim");
  const auto rank = call.rank("self");
  if (dim && rank && !wrap_dim(*dim, *rank)) demands.broken("self has no dimension " + std::to_string(*dim));
  return demands.verdict();
}

Verdict repeats_fit(const Call& call) {
  Demands demands;
  const auto rank = call.rank("self");
  const auto repeats = call.list("repeats");
  if (rank && repeats)
    demands.at_least(Dim(static_cast<std::int64_t>(repeats->size())), static_cast<std::int64_t>(*rank), "the length of repeats");
  return demands.verdict();
}

}  // namespace

void register_rearrange(Registry& registry) {
  registry.facts("aten::rot90", rot90);
  registry.facts("aten::pixel_shuffle", pixel_shuffle);
  registry.facts("aten::pixel_unshuffle", pixel_unshuffle);
  registry.facts("aten::combinations", combinations);
  registry.facts("aten::repeat_interleave", repeat_interleave);
  registry.facts("aten::repeat", repeat);
  registry.facts("aten::tile", tile);
  registry.condition("pixels_fit", pixels_fit);
  registry.condition("channels_shuffle", channels_shuffle);
  registry.condition("dim_exists", dim_exists);
  registry.condition("repeats_fit", repeats_fit);
}

}  // namespace compatcheck::symbolic

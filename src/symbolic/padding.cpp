// Padding: facts, and what PyTorch demands.
#include <algorithm>

#include "symbolic/demands.h"
#include "symbolic/emptiness.h"
#include "symbolic/families.h"

namespace compatcheck::symbolic {
namespace {

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

// A circular pad repeats elements that its negative widths leave; PyTorch copies the margins from each other, or from
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

// Widths are pairs, for the last dimensions. Modes other than constant support only signals, images and volumes, with or
// without a batch.
Verdict widths_fit(const Call& call) {
  Demands demands;
  const auto widths = call.list("pad");
  const auto& shape = self_of(call).shape;
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
  const auto& shape = self_of(call).shape;
  const bool may = shape && std::ranges::any_of(*shape, [](const Dim& size) { return !provably_at_least_if_empty(size, 1); });
  return {.truth = may ? Truth::yes : Truth::no, .message = may ? "" : "no dimension may be empty"};
}

}  // namespace

void register_padding(Registry& registry) {
  for (const char* op :
       {"aten::pad", "aten::constant_pad_nd", "aten::reflection_pad1d", "aten::reflection_pad2d", "aten::reflection_pad3d",
        "aten::replication_pad1d", "aten::replication_pad2d", "aten::replication_pad3d", "aten::_pad_circular"})
    registry.facts(op, pad);
  registry.condition("widths_fit", widths_fit);
  registry.condition("may_have_no_elements", may_have_no_elements);
}

}  // namespace compatcheck::symbolic

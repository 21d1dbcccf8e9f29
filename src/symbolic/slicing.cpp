// Parts of a tensor by position, and writes to them: facts.
#include <algorithm>
#include <limits>
#include <optional>

#include "symbolic/demands.h"
#include "symbolic/diagonal.h"
#include "symbolic/emptiness.h"
#include "symbolic/families.h"

namespace compatcheck::symbolic {
namespace {

// A place within 0 … size, as Python wraps and clamps; unknown where that isn't proved for a named size.
Dim place_in(const Dim& place, const Dim& size) {
  if (place.is_number() && size.is_number()) {
    const std::int64_t at = *place.number(), n = *size.number();
    return Dim(std::clamp<std::int64_t>(at < 0 ? at + n : at, 0, n));
  }
  const Dim at = place.is_number() && *place.number() < 0 ? place + size : place;
  if (provably_at_least(at - size, 0)) return size;
  return provably_at_least(at, 0) && provably_at_least(size - at, 0) ? at : Dim::unknown();
}

// The number of elements that start:end:step takes of a dimension.
Dim slice_length(const Call& call, const Dim& size, std::int64_t step) {
  // Both count from the same side, and the end doesn't come after the start.
  const auto first = call.is_none("start") ? std::optional<std::int64_t>(0) : call.integer("start"), last = call.integer("end");
  if (first && last && (*first < 0) == (*last < 0) && *first >= *last) return Dim(0);
  const Dim end_given = call.is_none("end") ? size : call.dim("end").value_or(Dim::unknown());
  const bool to_end = end_given.number() == std::numeric_limits<std::int64_t>::max() || provably_equal(end_given, size);
  const Dim start = call.is_none("start") ? Dim(0) : place_in(call.dim("start").value_or(Dim::unknown()), size);
  const Dim length = (to_end ? size : place_in(end_given, size)) - start;
  if (length.number() == 1 && !size.is_number() && !provably_at_least_if_empty(size, 1)) return at_most_one(size);
  if (length.is_number() && *length.number() > 1 && !size.is_number() && !provably_at_least_if_empty(size, *length.number()))
    return Dim::unknown();  // the named size may be 0
  if (length.is_number()) return ceil_div(std::max<std::int64_t>(*length.number(), 0), step);
  return provably_at_least(length, 0) ? ceil_div(length, step) : Dim::unknown();
}

// The elements that a slice of `length` takes of a small vector; nullopt if it hasn't so many.
std::optional<std::vector<Dim>> sliced_contents(const Call& call, const std::vector<Dim>& contents, std::int64_t length,
                                                std::int64_t step) {
  const auto size = static_cast<std::int64_t>(contents.size());
  const std::int64_t start = call.integer("start").value_or(0);
  const std::int64_t first = std::clamp<std::int64_t>(start < 0 ? start + size : start, 0, size);
  std::vector<Dim> kept;
  for (std::int64_t at = first; std::ssize(kept) < length; at += std::min(step, size)) {
    if (at >= size) return std::nullopt;
    kept.push_back(contents[static_cast<std::size_t>(at)]);
  }
  return kept;
}

Facts slice(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto dim = call.integer("dim"), step = call.integer("step");
  const auto index = dim && self.shape && !self.shape->empty() ? wrap_dim(*dim, self.shape->size()) : std::nullopt;
  if (step && *step < 1) throw Impossible{"the step of a slice must be at least 1"};
  if (!index || !step) {
    if (!self.shape) return {tensor_fact(self.dtype, std::nullopt)};
    return {tensor_fact(self.dtype, unknown_sizes(self.shape->size()))};
  }
  Shape shape = *self.shape;
  shape[*index] = slice_length(call, shape[*index], *step);
  Fact result = tensor_fact(self.dtype, shape);
  if (self.contents && shape.size() == 1 && shape[0].is_number() && (call.is_none("start") || call.integer("start")))
    std::get<TensorFact>(result.value).contents = sliced_contents(call, *self.contents, *shape[0].number(), *step);
  return {result};
}

Facts select(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto dim = call.integer("dim");
  const auto index = dim && self.shape && !self.shape->empty() ? wrap_dim(*dim, self.shape->size()) : std::nullopt;
  if (!index) return {tensor_fact(self.dtype, std::nullopt)};
  Shape shape = *self.shape;
  const auto place = call.integer("index"), whole = shape[*index].number();
  if (place && whole && (*place >= *whole || *place < -*whole))
    throw Impossible{"index " + std::to_string(*place) + " is out of range for size " + std::to_string(*whole)};
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*index));
  Fact result = tensor_fact(self.dtype, std::move(shape));
  if (self.contents && self.shape->size() == 1) {
    const auto at = call.integer("index");
    const auto position = at ? wrap_dim(*at, self.contents->size()) : std::nullopt;
    if (position && *position < self.contents->size())
      std::get<TensorFact>(result.value).contents = std::vector<Dim>{(*self.contents)[*position]};
  }
  return {result};
}

Facts narrow(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto dim = call.integer("dim");
  const auto index = dim && self.shape && !self.shape->empty() ? wrap_dim(*dim, self.shape->size()) : std::nullopt;
  if (!index) return {tensor_fact(self.dtype, std::nullopt)};
  Shape shape = *self.shape;
  Dim &size = shape[*index], length = call.dim("length").value_or(Dim::unknown());
  Demands demands;
  demands.at_least(length, 0, "length");
  if (const auto start = call.dim("start"); start && start->is_number()) {
    demands.at_least(*start + size, 0, "start counted from the end");
    demands.at_most(*start->number() < 0 ? *start + size + length : *start + length, size, "the end");
  }
  demands.hold();
  size = length;
  return {tensor_fact(self.dtype, std::move(shape))};
}

// ---- self with a part replaced

// `src` has the part's sizes.
void demand_part(const Call& call, const std::optional<Shape>& part) {
  const auto& source = tensor_of(call, "src").shape;
  if (!source || !part) return;
  Demands demands;
  demands.rank(call, "src", part->size(), part->size());
  for (std::size_t i = 0; i < part->size() && source->size() == part->size(); ++i)
    demands.equal((*source)[i], (*part)[i], "dimension " + std::to_string(i) + " of src");
  demands.hold();
}

template <Facts (*part)(const Call&)>
Facts replaced(const Call& call) {
  const Fact kept = part(call).front();
  demand_part(call, kept.tensor() ? kept.tensor()->shape : std::nullopt);
  return {like(self_of(call))};
}

}  // namespace

void register_slicing(Registry& registry) {
  for (const char* op : {"aten::slice.Tensor", "aten::slice_copy"}) registry.facts(op, slice);
  for (const char* op : {"aten::select.int", "aten::select_copy"}) registry.facts(op, select);
  for (const char* op : {"aten::narrow", "aten::narrow_copy"}) registry.facts(op, narrow);
  registry.facts("aten::select_scatter", replaced<select>);
  registry.facts("aten::slice_scatter", replaced<slice>);
  registry.facts("aten::diagonal_scatter", replaced<diagonal>);
  registry.facts("aten::as_strided_scatter", like_self);
}

}  // namespace compatcheck::symbolic

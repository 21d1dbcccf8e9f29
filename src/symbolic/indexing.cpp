// Reading and writing at computed positions: facts.
#include <algorithm>

#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

const TensorFact& self_of(const Call& call) { return tensor_of(call, "self"); }

// What a list of index tensors, some of them None, reads of a tensor. A mask counts as one vector of positions for
// each of its dimensions, of a length that nobody knows.
struct Indices {
  std::size_t read = 0;              // dimensions of self that are consumed, skipped ones too
  std::optional<std::size_t> first;  // the first that an index replaces
  bool adjacent = true;
  std::optional<Shape> shape = Shape{};  // of the indices, broadcast
  Shape kept;                            // dimensions that None keeps, in order
};

[[noreturn]] void refuse_many(const Shape& self) {
  throw Impossible{"too many indices for a tensor of " + std::to_string(self.size()) + " dimensions"};
}

void demand_cover(const Shape& self, std::size_t from, const Shape& mask) {
  if (from + mask.size() > self.size()) refuse_many(self);
  Demands demands;
  for (std::size_t i = 0; i < mask.size(); ++i)
    demands.equal(mask[i], self[from + i], "dimension " + std::to_string(i) + " of a mask");
  demands.hold();
}

std::optional<Indices> read_indices(const Shape& self, const std::vector<const Fact*>& given) {
  Indices indices;
  bool gap = false;
  for (const Fact* fact : given) {
    if (fact->is_none()) {
      if (indices.read >= self.size()) refuse_many(self);
      indices.kept.push_back(self[indices.read++]);
      gap = indices.first.has_value();
      continue;
    }
    const auto* tensor = fact->tensor();
    if (!tensor || !tensor->dtype) return std::nullopt;
    const bool mask = *tensor->dtype == DType::boolean || *tensor->dtype == DType::u8;
    if (mask && !tensor->shape) return std::nullopt;
    if (mask) demand_cover(self, indices.read, *tensor->shape);
    indices.adjacent &= !gap;
    if (!indices.first) indices.first = indices.read;
    indices.read += mask ? tensor->shape->size() : 1;
    indices.shape = broadcast(indices.shape, mask ? std::optional(unknown_sizes(1)) : tensor->shape);
  }
  if (indices.read > self.size()) refuse_many(self);
  return indices;
}

// Indexed dimensions give way to the indices' shape: where they stood if they are adjacent, else in front.
std::optional<Shape> indexed_shape(const TensorFact& self, const std::vector<const Fact*>& given) {
  if (!self.shape) return std::nullopt;
  const auto indices = read_indices(*self.shape, given);
  if (!indices || !indices->shape) return std::nullopt;
  Shape shape = indices->kept;
  shape.insert(shape.end(), self.shape->begin() + static_cast<std::ptrdiff_t>(indices->read), self.shape->end());
  const std::size_t at = indices->adjacent ? indices->first.value_or(0) : 0;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), indices->shape->begin(), indices->shape->end());
  return shape;
}

// Elements of a small vector at known places; nullopt if one isn't known.
std::optional<std::vector<Dim>> picked(const TensorFact& self, const TensorFact& at) {
  if (!self.contents || !self.shape || self.shape->size() != 1 || !at.contents) return std::nullopt;
  std::vector<Dim> result;
  for (const Dim& place : *at.contents) {
    const auto position = place.is_number() ? wrap_dim(*place.number(), self.contents->size()) : std::nullopt;
    if (!position || *position >= self.contents->size()) return std::nullopt;
    result.push_back((*self.contents)[*position]);
  }
  return result;
}

Facts index(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto given = call.list("indices");
  TensorFact result{.dtype = self.dtype, .shape = given ? indexed_shape(self, *given) : std::nullopt};
  const auto* at = given && given->size() == 1 ? given->front()->tensor() : nullptr;
  if (at && at->dtype && ir::is_integral(*at->dtype) && *at->dtype != DType::u8) result.contents = picked(self, *at);
  return {{.value = std::move(result)}};
}

Facts unsafe_masked_index(const Call& call) {
  const auto given = call.list("indices");
  return {tensor_fact(self_of(call).dtype, given ? indexed_shape(self_of(call), *given) : std::nullopt)};
}

Facts index_select(const Call& call) {
  const TensorFact &self = self_of(call), &at = tensor_of(call, "index");
  Demands demands;
  demands.rank(call, "index", 0, 1);
  demands.hold();
  const auto dim = dim_index(call, "dim", self);
  if (!dim) return {tensor_fact(self.dtype, self.shape ? std::optional(unknown_sizes(self.shape->size())) : std::nullopt)};
  TensorFact result{.dtype = self.dtype, .shape = self.shape, .contents = picked(self, at)};
  if (!result.shape->empty()) (*result.shape)[*dim] = at.shape ? product(*at.shape) : Dim::unknown();
  return {{.value = std::move(result)}};
}

// `index` is no larger than self, but along `dim`, and no larger than what is written. PyTorch doesn't look at one without
// elements.
void demand_index_fits(const Call& call) {
  const auto &self = self_of(call).shape, &index = tensor_of(call, "index").shape;
  if (!self || !index || std::ranges::any_of(*index, [](const Dim& size) { return size.number() == 0; })) return;
  const auto dim = dim_index(call, "dim", self_of(call));
  const auto fits = [&](const Shape& other, std::string_view name, std::optional<std::size_t> but) {
    if (std::max<std::size_t>(other.size(), 1) != std::max<std::size_t>(index->size(), 1))
      throw Impossible{"the rank of 'index' is " + std::to_string(index->size()) + ", and of '" + std::string(name) + "' " +
                       std::to_string(other.size())};
    Demands demands;
    for (std::size_t i = 0; i < std::min(index->size(), other.size()); ++i)
      if (i != but) demands.at_most((*index)[i], other[i], "dimension " + std::to_string(i) + " of index");
    demands.hold();
  };
  if (dim) fits(*self, "self", dim);
  const char* source = call.has("src") ? "src" : nullptr;
  if (const auto& given = source ? tensor_of(call, source).shape : std::nullopt) fits(*given, source, std::nullopt);
}

Facts gather(const Call& call) {
  const TensorFact &self = self_of(call), &at = tensor_of(call, "index");
  if (call.op() == "aten::gather") demand_index_fits(call);
  return {{.value = TensorFact{.dtype = self.dtype, .shape = at.shape, .contents = picked(self, at)}}};
}

Facts take_along_dim(const Call& call) {
  const TensorFact &self = self_of(call), &at = tensor_of(call, "indices");
  if (call.is_none("dim")) return {tensor_fact(self.dtype, Shape{at.shape ? product(*at.shape) : Dim::unknown()})};
  const auto dim = dim_index(call, "dim", self);
  if (!dim || !at.shape || at.shape->size() != self.shape->size() || self.shape->empty())
    return {tensor_fact(self.dtype, std::nullopt)};
  Shape around = *self.shape;  // along `dim` nothing has to fit
  around[*dim] = (*at.shape)[*dim];
  return {tensor_fact(self.dtype, broadcast(around, at.shape))};
}

Facts masked_select(const Call& call) { return {tensor_fact(self_of(call).dtype, unknown_sizes(1))}; }

Facts nonzero(const Call& call) {
  const auto rank = call.rank("self");
  const Dim count = call.has("size") ? call.dim("size").value_or(Dim::unknown()) : Dim::unknown();
  return {tensor_fact(DType::i64, Shape{count, rank ? Dim(static_cast<std::int64_t>(*rank)) : Dim::unknown()})};
}

// A vector of positions for each dimension; a tensor without dimensions counts as a vector.
Facts nonzero_lists(const Call& call) {
  const Fact positions = tensor_fact(DType::i64, unknown_sizes(1));
  const auto rank = call.rank(call.has("self") ? "self" : "condition");
  return {rank ? list_fact(Facts(std::max<std::size_t>(*rank, 1), positions)) : list_of(positions)};
}

Facts where(const Call& call) {
  if (!call.has("self")) return nonzero_lists(call);
  Promotion promotion;
  std::optional<Shape> shape = tensor_of(call, "condition").shape;
  for (const char* operand : {"self", "other"}) {
    promotion.add(call.fact(operand));
    if (!call.fact(operand).number()) shape = broadcast(shape, tensor_of(call, operand).shape);
  }
  return {tensor_fact(promotion.result(), std::move(shape))};
}

// ---- Writing: self's dtype and shape

Facts written(const Call& call) { return {like(self_of(call))}; }

Facts scattered(const Call& call) {
  demand_index_fits(call);
  return written(call);
}

Facts index_put(const Call& call) {
  const auto given = call.list("indices");
  const auto place = given ? indexed_shape(self_of(call), *given) : std::nullopt;
  if (const TensorFact& values = tensor_of(call, "values"); place && values.shape) {
    Demands demands;
    demands.broadcasts(*values.shape, *place, "'values'");
    demands.hold();
  }
  return written(call);
}

// A slice of `source` for each index; one number may go to one.
Facts written_slices(const Call& call) {
  const TensorFact& self = self_of(call);
  const auto &index = tensor_of(call, "index").shape, &source = tensor_of(call, "source").shape;
  Demands demands;
  demands.rank(call, "index", 0, 1);
  demands.hold();
  const auto dim = dim_index(call, "dim", self);
  if (source && source->empty() && index) demands.equal(product(*index), 1, "the number of indices of one number");
  demands.hold();
  if (!dim || self.shape->empty() || !source || source->empty()) return written(call);
  demands.rank(call, "source", self.shape->size(), self.shape->size());
  for (std::size_t i = 0; i < source->size() && source->size() == self.shape->size(); ++i)
    demands.equal((*source)[i],
                  i != *dim ? (*self.shape)[i]
                  : index   ? product(*index)
                            : Dim::unknown(),
                  "dimension " + std::to_string(i) + " of source");
  demands.hold();
  return written(call);
}

// The mask may stretch self.
Facts masked(const Call& call) {
  return {tensor_fact(self_of(call).dtype, broadcast(self_of(call).shape, tensor_of(call, "mask").shape))};
}

// ---- Repeating

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
  if (!dim || shape.empty()) return {tensor_fact(self.dtype, std::nullopt)};
  Dim& size = shape[*dim];
  const TensorFact* repeats = call.tensor("repeats");
  if (repeats && repeats->shape && repeats->shape->size() == 1 && repeats->shape->front().number() != 1) {
    Demands demands;
    demands.equal(repeats->shape->front(), size, "the length of 'repeats'");
    demands.hold();
  }
  if (const auto each = call.dim("repeats"); each && (!repeats || (repeats->shape && product(*repeats->shape).number() == 1)))
    size = size * *each;
  else if (repeats && repeats->contents) {
    size = 0;
    for (const Dim& times : *repeats->contents) size = size + times;
  } else
    size = Dim::unknown();
  if (total) {
    Demands demands;
    demands.equal(*total, size, "output_size");
    demands.hold();
    size = *total;
  }
  return {tensor_fact(self.dtype, std::move(shape))};
}

Verdict dim_exists(const Call& call) {
  Demands demands;
  const auto dim = call.integer("dim");
  const auto rank = call.rank("self");
  if (dim && rank && !wrap_dim(*dim, *rank)) demands.broken("self has no dimension " + std::to_string(*dim));
  return demands.verdict();
}

bool is_mask(DType dtype) { return dtype == DType::boolean || dtype == DType::u8; }

// Indices are positions, or None.
Verdict no_masks(const Call& call) {
  const Fact& list = call.fact("indices");
  const auto given = call.list("indices");
  if (!given)
    return {
        .truth = Truth::unknown, .message = "how many indices there are isn't known", .wants = list.wants, .blame = list.blame};
  for (const Fact* fact : *given) {
    if (fact->is_none()) continue;
    const auto* tensor = fact->tensor();
    if (!tensor || !tensor->dtype)
      return {
          .truth = Truth::unknown, .message = "the dtype of an index isn't known", .wants = fact->wants, .blame = fact->blame};
    if (is_mask(*tensor->dtype)) return {.truth = Truth::no, .message = "an index is a mask"};
  }
  return {.truth = Truth::yes};
}

// A single mask over one number: what the mask covers becomes that number.
Verdict one_number_by_mask(const Call& call) {
  const auto no = [](std::string why) { return Verdict{.truth = Truth::no, .message = std::move(why)}; };
  const auto unknown = [&](std::string_view argument, std::string why) {
    const Fact& fact = call.fact(argument);
    return Verdict{.truth = Truth::unknown, .message = std::move(why), .wants = fact.wants, .blame = fact.blame};
  };
  const auto given = call.list("indices");
  if (!given) return unknown("indices", "how many indices there are isn't known");
  const Fact* only = nullptr;
  for (const Fact* fact : *given) {
    if (fact->is_none()) continue;
    if (only) return no("there are several indices");
    only = fact;
  }
  const auto* mask = only ? only->tensor() : nullptr;
  if (!only || (mask && mask->dtype && !is_mask(*mask->dtype))) return no("no mask tells the places");
  if (call.boolean("accumulate").value_or(true)) return no("values are added");
  if (!mask || !mask->dtype || !mask->shape) return unknown("indices", "the rank of an index isn't known");
  if (mask->shape->empty()) return no("the mask has no dimensions");
  const TensorFact& values = tensor_of(call, "values");
  if (!values.shape) return unknown("values", "the shape of 'values' isn't known");
  if (product(*values.shape).number() != 1) return no("there are several values");
  return {.truth = Truth::yes};
}

// A number that a mask alone puts may be of any dtype: PyTorch fills with it.
Verdict put_values_have_dtype(const Call& call) {
  if (one_number_by_mask(call).truth != Truth::no) return {.truth = Truth::yes};
  Demands demands;
  demands.one_dtype(call, {"self", "values"});
  return demands.verdict();
}

}  // namespace

void register_indexing(Registry& registry) {
  for (const char* op : {"aten::index", "aten::_unsafe_index"}) registry.facts(op, index);
  registry.facts("aten::_unsafe_masked_index", unsafe_masked_index);
  registry.facts("aten::index_select", index_select);
  for (const char* op : {"aten::gather", "aten::take"}) registry.facts(op, gather);
  registry.facts("aten::take_along_dim", take_along_dim);
  registry.facts("aten::masked_select", masked_select);
  for (const char* op : {"aten::nonzero", "aten::nonzero_static", "aten::argwhere"}) registry.facts(op, nonzero);
  registry.facts("aten::nonzero_numpy", nonzero_lists);
  registry.facts("aten::where", where);
  for (const char* op : {"aten::index_put", "aten::_unsafe_index_put", "aten::_index_put_impl"}) registry.facts(op, index_put);
  for (const char* op : {"aten::_unsafe_masked_index_put_accumulate", "aten::index_fill", "aten::put"})
    registry.facts(op, written);
  for (const char* op : {"aten::scatter", "aten::scatter_add", "aten::scatter_reduce"}) registry.facts(op, scattered);
  for (const char* op : {"aten::index_copy", "aten::index_add", "aten::index_reduce"}) registry.facts(op, written_slices);
  for (const char* op : {"aten::masked_fill", "aten::masked_scatter"}) registry.facts(op, masked);
  registry.facts("aten::repeat_interleave", repeat_interleave);
  registry.condition("no_masks", no_masks);
  registry.condition("one_number_by_mask", one_number_by_mask);
  registry.condition("put_values_have_dtype", put_values_have_dtype);
  registry.condition("dim_exists", dim_exists);
}

}  // namespace compatcheck::symbolic

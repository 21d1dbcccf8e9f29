// Reading at computed positions: facts and conditions.
#include "symbolic/indexing.h"

#include <algorithm>

#include "process/spell_count.h"
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"
#include "symbolic/sort.h"

namespace compatcheck::symbolic {
using ir::DType;

bool is_mask(DType dtype) { return dtype == DType::boolean || dtype == DType::u8; }

namespace {

// The part of a tensor that a list of index tensors reads; some of these may be None. A mask counts as one vector of positions,
// of unknown length, for each of its dimensions.
struct Indices {
  std::size_t read = 0;              // consumed dimensions of self, including skipped ones
  std::optional<std::size_t> first;  // first dimension that an index replaces
  bool adjacent = true;
  std::optional<Shape> shape = Shape{};  // broadcast shape of the indices
  Shape kept;                            // dimensions that None keeps, in order
};

[[noreturn]] void refuse_many(const Shape& self) {
  throw Impossible{"too many indices for a tensor of " + spell_count(self.size(), "dimension")};
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
    const bool mask = is_mask(*tensor->dtype);
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

}  // namespace

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

namespace {

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
  const auto read = given ? indexed_shape(self_of(call), *given) : std::nullopt;
  return {tensor_fact(self_of(call).dtype, broadcast(read, tensor_of(call, "mask").shape))};
}

Facts index_select(const Call& call) {
  const TensorFact &self = self_of(call), &at = tensor_of(call, "index");
  demand_rank(call, "index", 0, 1);
  const auto dim = dim_index(call, "dim", self);
  if (!dim) return {tensor_fact(self.dtype, self.shape ? std::optional(unknown_sizes(self.shape->size())) : std::nullopt)};
  TensorFact result{.dtype = self.dtype, .shape = self.shape, .contents = picked(self, at)};
  if (!result.shape->empty()) (*result.shape)[*dim] = at.shape ? product(*at.shape) : Dim::unknown();
  return {{.value = std::move(result)}};
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

Facts one_hot(const Call& call) {
  const TensorFact& self = self_of(call);
  if (!self.shape) return {tensor_fact(DType::i64, std::nullopt)};
  Shape shape = *self.shape;
  const auto classes = call.dim("num_classes");
  Demands demands;
  for (const Dim& index : self.contents.value_or(std::vector<Dim>{})) {
    demands.at_least(index, 0, "a class");
    if (classes && provably_at_least(*classes, 0)) demands.at_least(*classes - index, 1, "num_classes beyond a class");
  }
  if (classes && classes->number() == -1 && product(shape).number() == 0)
    demands.broken("without elements num_classes must be given");
  demands.hold();
  shape.push_back(!classes || classes->number() == -1 ? Dim::unknown() : *classes);
  return {tensor_fact(DType::i64, std::move(shape))};
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
  registry.facts("aten::bucketize", searched);
  registry.facts("aten::one_hot", one_hot);
  registry.condition("no_masks", no_masks);
}

}  // namespace compatcheck::symbolic

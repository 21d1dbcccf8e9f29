// Joining tensors: facts and conditions.
#include "symbolic/join.h"

#include <algorithm>

#include "process/spell_count.h"
#include "symbolic/demands.h"
#include "symbolic/families.h"
#include "symbolic/promotion.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;
using Tensors = std::vector<TensorFact>;

}  // namespace

std::optional<Tensors> tensor_list(const Call& call, std::string_view argument) {
  const auto items = call.list(argument);
  if (!items) return std::nullopt;
  Tensors tensors;
  for (const Fact* item : *items) tensors.push_back(item->tensor() ? *item->tensor() : TensorFact{});
  return tensors;
}

namespace {

std::optional<DType> promoted(const Tensors& tensors) {
  Promotion promotion;
  for (const TensorFact& tensor : tensors) promotion.add({.value = tensor});
  return promotion.result();
}

// Returns the fact that holds for each member of a list of unknown length.
TensorFact common_member(const Call& call, std::string_view argument) {
  const auto* list = call.fact(argument).list();
  const auto* tensor = list && list->element ? list->element->tensor() : nullptr;
  return tensor ? *tensor : TensorFact{};
}

// torch.cat skips vectors without elements, whatever the others' rank.
bool is_skipped(const TensorFact& tensor) {
  return tensor.shape && tensor.shape->size() == 1 && tensor.shape->front().number() == 0;
}

// May turn out to be such a vector.
bool may_be_skipped(const TensorFact& tensor) {
  return !tensor.shape || (tensor.shape->size() == 1 && !tensor.shape->front().is_number());
}

}  // namespace

std::optional<Shape> concatenated(const Tensors& tensors, std::int64_t dim) {
  const auto leads = [](const TensorFact& tensor) { return !is_skipped(tensor) && !may_be_skipped(tensor); };
  auto first = std::find_if(tensors.begin(), tensors.end(), leads);
  const bool all_ranks = std::ranges::all_of(tensors, [](const TensorFact& tensor) { return tensor.shape.has_value(); });
  if (first == tensors.end() && all_ranks)
    first = std::find_if(tensors.begin(), tensors.end(), [](const auto& t) { return t.shape && !is_skipped(t); });
  if (first == tensors.end()) {
    const bool all_skipped = !tensors.empty() && std::all_of(tensors.begin(), tensors.end(), is_skipped);
    return all_skipped ? std::optional(Shape{0}) : std::nullopt;
  }
  Shape shape = *first->shape;
  const auto index = wrap_dim(dim, shape.size());
  if (!index || shape.empty()) {
    if (may_be_skipped(*first)) return std::nullopt;
    throw Impossible{"tensors of rank " + std::to_string(shape.size()) + " aren't joined along dimension " + std::to_string(dim)};
  }
  Dim total = 0;
  for (const TensorFact& tensor : tensors) {
    if (is_skipped(tensor)) continue;
    if (!tensor.shape || may_be_skipped(tensor)) {
      total = tensor.shape && tensor.shape->size() == shape.size() ? total + tensor.shape->front() : Dim::unknown();
      continue;
    }
    if (tensor.shape->size() != shape.size())
      throw Impossible{"tensors of " + std::to_string(tensor.shape->size()) + " and of " +
                       spell_count(shape.size(), "dimension") + " are joined"};
    total = total + (*tensor.shape)[*index];
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (i != *index) shape[i] = agreed_dim(shape[i], (*tensor.shape)[i]);
  }
  shape[*index] = total;
  return shape;
}

namespace {

// Elements of small integer vectors that are joined.
std::optional<std::vector<Dim>> joined_contents(const Tensors& tensors) {
  std::vector<Dim> contents;
  for (const TensorFact& tensor : tensors) {
    if (!tensor.contents || !tensor.shape || tensor.shape->size() > 1) return std::nullopt;
    contents.insert(contents.end(), tensor.contents->begin(), tensor.contents->end());
  }
  return contents.size() <= most_contents ? std::optional(contents) : std::nullopt;
}

Facts cat(const Call& call) {
  const auto dim = call.has("dim") ? call.integer("dim") : std::optional<std::int64_t>(0);
  const auto tensors = tensor_list(call, "tensors");
  if (!tensors) {
    TensorFact member = common_member(call, "tensors");
    const auto index = dim && member.shape ? wrap_dim(*dim, member.shape->size()) : std::nullopt;
    if (!index || member.shape->empty()) return {tensor_fact(member.dtype, std::nullopt)};
    (*member.shape)[*index] = Dim::unknown();
    return {like(member)};
  }
  TensorFact result{.dtype = promoted(*tensors), .shape = dim ? concatenated(*tensors, *dim) : std::nullopt};
  if (result.shape && result.shape->size() == 1) result.contents = joined_contents(*tensors);
  return {{.value = std::move(result)}};
}

Facts stack(const Call& call) {
  const auto dim = call.integer("dim");
  const auto tensors = tensor_list(call, "tensors");
  TensorFact member = tensors ? TensorFact{.dtype = promoted(*tensors)} : common_member(call, "tensors");
  if (tensors)
    for (const TensorFact& tensor : *tensors) {
      if (!tensor.shape) continue;
      if (!member.shape) member.shape = tensor.shape;
      if (member.shape->size() != tensor.shape->size()) throw Impossible{"tensors of different ranks are stacked"};
      for (std::size_t i = 0; i < member.shape->size() && i < tensor.shape->size(); ++i)
        (*member.shape)[i] = agreed_dim((*member.shape)[i], (*tensor.shape)[i]);
    }
  const auto index = dim && member.shape ? wrap_dim(*dim, member.shape->size() + 1) : std::nullopt;
  if (!index) return {tensor_fact(member.dtype, std::nullopt)};
  const Dim count = tensors ? Dim(static_cast<std::int64_t>(tensors->size())) : Dim::unknown();
  member.shape->insert(member.shape->begin() + static_cast<std::ptrdiff_t>(*index), count);
  member.contents = tensors && member.shape->size() == 1 ? joined_contents(*tensors) : std::nullopt;
  member.known_constant = false;
  return {{.value = std::move(member)}};
}

// hstack, vstack, dstack, column_stack: a minimal rank first, then cat.
using Widen = void (*)(Shape&);
Facts joined_wide(const Call& call, Widen widen, std::optional<std::int64_t> dim) {
  auto tensors = tensor_list(call, "tensors");
  if (!tensors) return {tensor_fact(std::nullopt, std::nullopt)};
  if (std::any_of(tensors->begin(), tensors->end(), [](const auto& tensor) { return !tensor.shape; }))
    return {tensor_fact(promoted(*tensors), std::nullopt)};
  for (TensorFact& tensor : *tensors) widen(*tensor.shape);
  const auto dtype = promoted(*tensors);  // computed with the widened dimensions
  if (!dim) dim = tensors->empty() || tensors->front().shape->size() == 1 ? 0 : 1;
  return {tensor_fact(dtype, concatenated(*tensors, *dim))};
}

void to_vector(Shape& shape) {
  if (shape.empty()) shape = {1};
}
void to_row(Shape& shape) {
  to_vector(shape);
  if (shape.size() == 1) shape.insert(shape.begin(), Dim(1));
}
void to_layer(Shape& shape) {
  to_row(shape);
  if (shape.size() == 2) shape.emplace_back(1);
}
void to_column(Shape& shape) {
  if (shape.size() > 1) return;
  to_vector(shape);
  shape.emplace_back(1);
}

Facts hstack(const Call& call) { return joined_wide(call, to_vector, std::nullopt); }
Facts vstack(const Call& call) { return joined_wide(call, to_row, 0); }
Facts dstack(const Call& call) { return joined_wide(call, to_layer, 2); }
Facts column_stack(const Call& call) { return joined_wide(call, to_column, 1); }

Facts broadcast_tensors(const Call& call) {
  const auto tensors = tensor_list(call, "tensors");
  if (!tensors) return {list_of(tensor_fact(std::nullopt, std::nullopt))};
  std::optional<Shape> shape = Shape{};
  for (const TensorFact& tensor : *tensors) shape = broadcast(shape, tensor.shape);
  Facts items;
  for (const TensorFact& tensor : *tensors) items.push_back(tensor_fact(tensor.dtype, shape));
  return {list_fact(std::move(items))};
}

// Every result has the lengths of all vectors, the first two swapped if indexing is "xy".
Facts meshgrid(const Call& call) {
  constexpr std::size_t most_tensors = 64;  // each is a dimension of every result
  const auto tensors = tensor_list(call, "tensors");
  if (!tensors || tensors->size() > most_tensors) return {list_of(tensor_fact(std::nullopt, std::nullopt))};
  std::optional<Shape> shape = Shape{};
  for (const TensorFact& tensor : *tensors) {
    if (tensor.shape && tensor.shape->size() > 1) throw Impossible{"a tensor has more than one dimension"};
    if (!tensor.shape)
      shape.reset();
    else if (shape)
      shape->push_back(tensor.shape->empty() ? Dim(1) : tensor.shape->front());
  }
  if (call.has("indexing") && shape && shape->size() >= 2) {
    const auto indexing = call.string("indexing");
    if (!indexing)
      shape = unknown_sizes(shape->size());
    else if (*indexing == "xy")
      std::swap((*shape)[0], (*shape)[1]);
  }
  Facts items;
  for (const TensorFact& tensor : *tensors) items.push_back(tensor_fact(tensor.dtype, shape));
  return {list_fact(std::move(items))};
}

// The longest of them, one beside the other.
Facts pad_sequence(const Call& call) {
  const auto tensors = tensor_list(call, "sequences");
  const auto batch_first = call.boolean("batch_first");
  if (!tensors || tensors->empty()) return {tensor_fact(std::nullopt, std::nullopt)};
  const TensorFact& first = tensors->front();
  if (!first.shape || first.shape->empty() || !batch_first) return {tensor_fact(first.dtype, std::nullopt)};
  Dim longest = size_at(first, 0);
  Demands demands;
  const auto side = call.has("padding_side") ? call.string("padding_side") : std::nullopt;
  if (side && side != "left" && side != "right") demands.broken("padding_side must be left or right");
  for (const TensorFact& tensor : *tensors) {
    if (tensor.shape && tensor.shape->size() != first.shape->size()) demands.broken("the sequences differ in rank");
    for (std::size_t i = 1; i < first.shape->size(); ++i)
      demands.equal(size_at(tensor, i), (*first.shape)[i], "the size of dimension " + std::to_string(i) + " of each sequence");
    const Dim length = size_at(tensor, 0);
    if (provably_equal(length, longest)) continue;
    longest = length.is_number() && longest.is_number() ? Dim(std::max(*length.number(), *longest.number())) : Dim::unknown();
  }
  demands.hold();
  Shape shape = *first.shape;
  shape.front() = longest;
  shape.insert(shape.begin() + (*batch_first ? 0 : 1), static_cast<std::int64_t>(tensors->size()));
  return {tensor_fact(first.dtype, std::move(shape))};
}

Facts block_diag(const Call& call) {
  const auto tensors = tensor_list(call, "tensors");
  if (!tensors) return {tensor_fact(std::nullopt, Shape(2, Dim::unknown()))};
  Dim rows = 0, columns = 0;
  for (const TensorFact& tensor : *tensors) {
    Shape shape = tensor.shape.value_or(unknown_sizes(2));
    if (shape.size() > 2) throw Impossible{"a block has more than 2 dimensions"};
    to_row(shape);
    rows = rows + shape[0];
    columns = columns + shape[1];
  }
  return {tensor_fact(promoted(*tensors), Shape{rows, columns})};
}

Facts cartesian_prod(const Call& call) {
  const auto tensors = tensor_list(call, "tensors");
  if (!tensors || tensors->empty()) return {tensor_fact(std::nullopt, std::nullopt)};
  if (tensors->size() == 1) return {like(tensors->front())};
  Dim rows = 1;
  for (const TensorFact& tensor : *tensors)
    if (tensor.shape && tensor.shape->size() != 1) throw Impossible{"a tensor isn't of one dimension"};
  for (const TensorFact& tensor : *tensors) rows = rows * size_at(tensor, 0);
  return {tensor_fact(promoted(*tensors), Shape{rows, static_cast<std::int64_t>(tensors->size())})};
}

// Each tensor's dimensions from `dim` on merge into one, cut into `num_chunks` rows.
Facts chunk_cat(const Call& call) {
  const auto tensors = tensor_list(call, "tensors");
  const auto dim = call.integer("dim"), chunks = call.integer("num_chunks");
  if (!tensors || tensors->empty() || !dim || !chunks || (*dim < 0 && !tensors->front().shape))
    return {tensor_fact(tensors ? promoted(*tensors) : std::nullopt, std::nullopt)};
  const auto lead = static_cast<std::size_t>(*dim < 0 ? *dim + static_cast<std::int64_t>(tensors->front().shape->size()) : *dim);
  Shape shape;
  Dim width = 0;
  for (const TensorFact& tensor : *tensors) {
    if (!tensor.shape || tensor.shape->size() <= lead) return {tensor_fact(promoted(*tensors), std::nullopt)};
    shape.assign(tensor.shape->begin(), tensor.shape->begin() + static_cast<std::ptrdiff_t>(lead));
    Dim rest = ceil_div((*tensor.shape)[lead], *chunks);
    for (std::size_t i = lead + 1; i < tensor.shape->size(); ++i) rest = rest * (*tensor.shape)[i];
    width = width + rest;
  }
  shape.emplace_back(*chunks);
  shape.push_back(width);
  return {tensor_fact(promoted(*tensors), std::move(shape))};
}

// A list of tensors that is a sequence while the model runs.
Verdict list_of_unknown_length(const Call& call) {
  const auto* list = call.input(0).list();
  if (!list) return {.truth = Truth::no, .message = "nothing is known of the list"};
  if (list->items) return {.truth = Truth::no, .message = "the list has " + spell_count(list->items->size(), "member")};
  return {.truth = Truth::yes};
}

// One of the tensors may be a vector without elements, which only the running model knows.
Verdict may_join_empty_vector(const Call& call) {
  const auto tensors = tensor_list(call, "tensors");
  const auto has_rank = [](const TensorFact& tensor) { return tensor.shape.has_value(); };
  const bool may =
      tensors && tensors->size() > 1 && !std::ranges::all_of(*tensors, has_rank) &&
      std::ranges::any_of(*tensors, [](const TensorFact& tensor) { return tensor.shape && tensor.shape->size() > 1; });
  return {.truth = may ? Truth::yes : Truth::no};
}

}  // namespace

void register_join(Registry& registry) {
  for (const char* op : {"aten::cat", "aten::concat", "aten::concatenate"}) registry.facts(op, cat);
  registry.facts("aten::stack", stack);
  registry.facts("aten::hstack", hstack);
  for (const char* op : {"aten::vstack", "aten::row_stack"}) registry.facts(op, vstack);
  registry.facts("aten::dstack", dstack);
  registry.facts("aten::column_stack", column_stack);
  registry.facts("aten::broadcast_tensors", broadcast_tensors);
  registry.facts("aten::meshgrid", meshgrid);
  registry.facts("aten::block_diag", block_diag);
  registry.facts("aten::pad_sequence", pad_sequence);
  registry.facts("aten::cartesian_prod", cartesian_prod);
  registry.facts("aten::_chunk_cat", chunk_cat);
  registry.condition("list_of_unknown_length", list_of_unknown_length);
  registry.condition("may_join_empty_vector", may_join_empty_vector);
}

}  // namespace compatcheck::symbolic

// Lists and tuples: facts and conditions.
#include <algorithm>

#include "ir/slice_places.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

// Whether so many of the items are too much for one fact.
bool too_large(const Facts& items, std::size_t times = 1) {
  std::size_t bytes = 0;
  for (const Fact& item : items) bytes += footprint(item);
  return bytes > most_fact / std::max<std::size_t>(times, 1);
}

const std::optional<Facts>& items_of(const Call& call, std::size_t i) {
  static const std::optional<Facts> unknown;
  const auto* list = i < call.node().inputs().size() ? call.input(i).list() : nullptr;
  return list ? list->items : unknown;
}

// Returns the fact of every item of a list of unknown length.
Fact common_item(const Call& call, std::size_t i) {
  const auto* list = call.input(i).list();
  return list && list->element ? *list->element : Fact{};
}

// Returns the fact of every item of a list of known or unknown length.
Fact item_of_any(const Call& call, std::size_t i) {
  const auto& items = items_of(call, i);
  if (!items || items->empty()) return common_item(call, i);
  Fact common = items->front();
  for (const Fact& other : *items) common = join(common, other);
  return common;
}

std::optional<std::int64_t> integer(const Call& call, std::size_t i) {
  const auto* number = i < call.node().inputs().size() ? call.input(i).number() : nullptr;
  return number && number->integer ? number->integer->number() : std::nullopt;
}

Facts construct(const Call& call) {
  Facts items;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < call.node().inputs().size(); ++i) {
    if ((bytes += footprint(call.input(i))) > most_fact) return {};
    items.push_back(call.input(i));
  }
  return {list_fact(std::move(items))};
}

Facts unpack_list(const Call& call) {
  const std::size_t count = call.node().outputs().size();
  if (const auto& items = items_of(call, 0)) return items->size() == count ? *items : Facts{};
  const Fact common = common_item(call, 0);
  return too_large({common}, count) ? Facts{} : Facts(count, common);
}

Facts item(const Call& call) {
  const auto& items = items_of(call, 0);
  const auto index = integer(call, 1);
  if (items && index) {
    const auto size = static_cast<std::int64_t>(items->size());
    const std::int64_t at = *index < 0 ? *index + size : *index;
    return {at >= 0 && at < size ? (*items)[static_cast<std::size_t>(at)] : Fact{}};
  }
  if (!items) return {common_item(call, 0)};
  return {item_of_any(call, 0)};
}

Facts length(const Call& call) {
  const auto& items = items_of(call, 0);
  return {integer_fact(items ? Dim(static_cast<std::int64_t>(items->size())) : Dim::unknown())};
}

Facts first_size(const Call& call) {
  const auto* tensor = call.input(0).tensor();
  return {integer_fact(tensor ? size_at(*tensor, 0) : Dim::unknown())};
}

Facts copy(const Call& call) { return {call.input(0)}; }

Facts slice_list(const Call& call) {
  const auto& items = items_of(call, 0);
  const auto step = integer(call, 3);
  const bool whole_start = call.input(1).is_none(), whole_end = call.input(2).is_none();
  const auto start = integer(call, 1), end = integer(call, 2);
  if (!items || !step || *step == 0 || (!whole_start && !start) || (!whole_end && !end)) {
    return {items && items->empty() ? call.input(0) : list_of(item_of_any(call, 0))};
  }
  Facts parts;
  for (const std::int64_t i : ir::slice_places(static_cast<std::int64_t>(items->size()), start, end, *step))
    parts.push_back((*items)[static_cast<std::size_t>(i)]);
  return {list_fact(std::move(parts))};
}

Facts concatenate(const Call& call) {
  const auto &a = items_of(call, 0), &b = items_of(call, 1);
  if (!a || !b) {  // one of unknown length; one without items has no facts about them
    if (a && a->empty()) return {call.input(1)};
    if (b && b->empty()) return {call.input(0)};
    Fact both = join(item_of_any(call, 0), item_of_any(call, 1));
    return {list_of(std::move(both))};
  }
  if (too_large(*a, 2) || too_large(*b, 2)) return {};
  Facts all = *a;
  all.insert(all.end(), b->begin(), b->end());
  return {list_fact(std::move(all))};
}

// One more behind the last.
Facts append(const Call& call) {
  const auto& items = items_of(call, 0);
  if (!items) return {list_of(join(common_item(call, 0), call.input(1)))};
  Facts all = *items;
  all.push_back(call.input(1));
  return {list_fact(std::move(all))};
}

Facts repeated(const Call& call, std::size_t list, std::size_t number) {
  const auto& items = items_of(call, list);
  const auto count = integer(call, number);
  if (items && (items->empty() || (count && *count <= 0))) return {list_fact({})};
  if (!items || !count || too_large(*items, static_cast<std::size_t>(*count))) return {list_of(item_of_any(call, list))};
  Facts all;
  for (std::int64_t i = 0; i < *count; ++i) all.insert(all.end(), items->begin(), items->end());
  return {list_fact(std::move(all))};
}
Facts repeat_list(const Call& call) { return repeated(call, 0, 1); }
Facts repeat_right(const Call& call) { return repeated(call, 1, 0); }

// The same numbers in another order.
Facts sorted(const Call& call) {
  const auto& items = items_of(call, 0);
  if (!items) return {list_of(common_item(call, 0))};
  return {list_fact(Facts(items->size(), item_of_any(call, 0)))};
}

// A tensor without dimensions is a number. TorchScript requires an annotation, which states rank and dtype.
Facts tolist(const Call& call) {
  const auto* tensor = call.input(0).tensor();
  ir::TypeRef element = call.node().output()->type();
  std::size_t rank = 0;
  for (; ir::is(element, ir::TypeKind::list); element = element->elements.front()) ++rank;
  if (tensor && tensor->shape && tensor->shape->size() != rank)
    throw Impossible{"a tensor of rank " + std::to_string(tensor->shape->size()) + " becomes lists of rank " +
                     std::to_string(rank)};
  if (tensor && tensor->dtype &&
      (ir::is(element, ir::TypeKind::floating)  ? !ir::is_floating(*tensor->dtype)
       : ir::is(element, ir::TypeKind::integer) ? *tensor->dtype != ir::DType::i64
                                                : ir::is(element, ir::TypeKind::boolean) && *tensor->dtype != ir::DType::boolean))
    throw Impossible{"a tensor of another dtype than the list's numbers"};
  if (!tensor || !tensor->shape || rank > 1) return {};
  const auto kind = ir::is(element, ir::TypeKind::floating)  ? NumberFact::Kind::floating
                    : ir::is(element, ir::TypeKind::boolean) ? NumberFact::Kind::boolean
                                                             : NumberFact::Kind::integer;
  const auto number = [&](std::size_t i) {
    NumberFact made{.kind = kind};
    if (tensor->contents && i < tensor->contents->size()) {
      const Dim& known = (*tensor->contents)[i];
      if (kind != NumberFact::Kind::floating && !known.is_unknown())
        made.integer = known;
      else if (const auto whole = known.number(); whole && kind == NumberFact::Kind::floating)
        made.floating = static_cast<double>(*whole);
    }
    return Fact{.value = std::move(made)};
  };
  if (tensor->shape->empty()) return {number(0)};
  const auto size = tensor->shape->front().number();
  if (!size || *size > static_cast<std::int64_t>(most_contents)) return {list_of({.value = NumberFact{.kind = kind}})};
  Facts items;
  for (std::size_t i = 0; i < static_cast<std::size_t>(*size); ++i) items.push_back(number(i));
  return {list_fact(std::move(items))};
}

// The equality of two lists of ints, as far as it is proved.
Facts compared(const Call& call, bool on_equal) {
  const auto &a = items_of(call, 0), &b = items_of(call, 1);
  if (!a || !b) return {};
  if (a->size() != b->size()) return {boolean_fact(!on_equal)};
  bool all_equal = true;
  for (std::size_t i = 0; i < a->size(); ++i) {
    const auto *x = (*a)[i].number(), *y = (*b)[i].number();
    if (!x || !y || !x->integer || !y->integer) return {};
    if (provably_different(*x->integer, *y->integer)) return {boolean_fact(!on_equal)};
    all_equal &= provably_equal(*x->integer, *y->integer);
  }
  return {all_equal ? boolean_fact(on_equal) : Fact{}};
}
Facts lists_equal(const Call& call) { return compared(call, true); }
Facts lists_differ(const Call& call) { return compared(call, false); }

// Whether an int is in a list of them.
Facts contains(const Call& call) {
  const auto& items = items_of(call, 0);
  const auto* searched = call.input(1).number();
  if (!items || !searched || !searched->integer) return {};
  bool none = true;
  for (const Fact& item : *items) {
    const auto* number = item.number();
    const bool known = number && number->integer;
    if (known && provably_equal(*number->integer, *searched->integer)) return {boolean_fact(true)};
    none &= known && provably_different(*number->integer, *searched->integer);
  }
  return {none ? boolean_fact(false) : Fact{}};
}

// One more row: how many there are isn't known within the loop.
Facts stack_append(const Call& call) {
  const auto* item = call.input(1).tensor();
  if (!item) return {};
  TensorFact stack{.dtype = item->dtype, .shape = item->shape};
  if (stack.shape) stack.shape->insert(stack.shape->begin(), Dim::unknown());
  if (item->quantizer && !item->quantizer->per_channel) stack.quantizer = item->quantizer;
  return {{.value = std::move(stack)}};
}

// ---- Conditions

// Lists that ONNX can hold as a tensor: of numbers.
Verdict list_of_numbers(const Call& call) {
  const std::size_t position = call.op() == "aten::mul" && call.node().overload() == "right_" ? 1 : 0;
  if (position >= call.node().inputs().size()) return {.truth = Truth::no, .message = "the call has no list"};
  const ir::TypeRef& type = call.node().input(position)->type();
  const auto is_number = [](ir::TypeKind kind) {
    return kind == ir::TypeKind::integer || kind == ir::TypeKind::floating || kind == ir::TypeKind::boolean;
  };
  if (ir::is(type, ir::TypeKind::list) && is_number(type->elements.front()->kind)) return {.truth = Truth::yes};
  return {.truth = Truth::no,
          .message = "the list must be one of numbers (int[], float[] or bool[]), but is " +
                     (type ? ir::to_string(*type) : std::string("of unknown type"))};
}

Verdict one_list_of_known_length(const Call& call) {
  if (items_of(call, 0) || items_of(call, 1)) return {.truth = Truth::yes};
  return {.truth = Truth::no, .message = "both lists have a length that is known only when the model runs"};
}

}  // namespace

void register_sequence(Registry& registry) {
  for (const char* op : {"prim::ListConstruct", "prim::TupleConstruct"}) registry.facts(op, construct);
  for (const char* op : {"prim::ListUnpack", "prim::TupleUnpack"}) registry.facts(op, unpack_list);
  for (const char* op : {"prim::TupleIndex", "aten::__getitem__.t", "aten::select.t"}) registry.facts(op, item);
  for (const char* op : {"aten::len.t", "aten::len.any"}) registry.facts(op, length);
  registry.facts("aten::len.Tensor", first_size);
  for (const char* op : {"aten::list.t", "aten::Size", "prim::unchecked_cast"}) registry.facts(op, copy);
  registry.facts("aten::slice.t", slice_list);
  registry.facts("aten::add.t", concatenate);
  registry.facts("aten::mul.left_t", repeat_list);
  registry.facts("aten::mul.right_", repeat_right);
  for (const char* op : {"aten::sorted.int", "aten::sorted.float", "aten::sorted.bool"}) registry.facts(op, sorted);
  registry.facts("aten::eq.int_list", lists_equal);
  registry.facts("aten::ne.int_list", lists_differ);
  registry.facts("aten::__contains__.int_list", contains);
  registry.facts("aten::append.t", append);
  registry.facts("prim::StackAppend", stack_append);
  registry.facts("prim::tolist", tolist);
  registry.condition("list_of_numbers", list_of_numbers);
  registry.condition("one_list_of_known_length", one_list_of_known_length);
}

}  // namespace compatcheck::symbolic

// Lists. One of known length is its members, one of numbers a vector, one of tensors a sequence.
#include <limits>

#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/loop.h"
#include "handlers/sizes.h"
#include "ir/slice_places.h"

namespace compatcheck::handlers {
namespace {

const Operand& operand_at(Emission& e, std::size_t i) { return e.operand(e.call.node().schema()->arguments.at(i).name); }
std::string_view name_at(Emission& e, std::size_t i) { return e.call.node().schema()->arguments.at(i).name; }

DType number_dtype(const ir::TypeRef& list) {
  const auto kind = list && !list->elements.empty() ? list->elements.front()->kind : ir::TypeKind::integer;
  return kind == ir::TypeKind::floating ? DType::f64 : kind == ir::TypeKind::boolean ? DType::boolean : DType::i64;
}

bool holds_numbers(Emission& e, std::size_t i) {
  const ir::TypeRef& type = e.call.node().input(i)->type();
  if (!type || type->elements.empty()) return false;
  const auto kind = type->elements.front()->kind;
  return kind == ir::TypeKind::integer || kind == ir::TypeKind::floating || kind == ir::TypeKind::boolean;
}

// A list of numbers as one vector.
Value vector_at(Emission& e, std::size_t i) {
  const Operand& given = operand_at(e, i);
  if (const auto* vector = std::get_if<Vector>(&given.value)) return vector->value;
  if (const List* list = given.list()) return vector_of(*list, number_dtype(e.call.node().input(i)->type()), e.build);
  throw Refusal{"what the list holds isn't known"};
}

Value sequence_at(Emission& e, std::size_t i) {
  const ir::TypeRef& type = e.call.node().input(i)->type();
  if (type && !type->elements.empty() && ir::is(type->elements.front(), ir::TypeKind::list))
    throw Refusal{"ONNX has no lists of lists", "use a tensor for the inner lists, or positions that are fixed"};
  const Operand& given = operand_at(e, i);
  if (const auto* sequence = std::get_if<Sequence>(&given.value)) return sequence->value;
  const List* list = given.list();
  if (!list || list->items.empty()) throw Refusal{"what the list holds isn't known"};
  Values members;
  for (const Operand& item : list->items) members.push_back(e.as_tensor(item, name_at(e, i)));
  for (const Value& member : members)
    if (member.dtype != members.front().dtype)
      throw Refusal{"ONNX has no list of tensors of several dtypes", "use tensors of one dtype, or a position that is fixed"};
  return e.node("SequenceConstruct", members);
}

// A new sequence of the members at these positions, an i64 vector.
Value members_at(Emission& e, const Value& sequence, const Value& positions) {
  const Value none = empty_sequence(e, sequence.dtype);
  return with_more(e, none, e.node("Size", {positions}), [&](const Value& iteration) {
    const Value position = [&] {
      const auto reading = e.build.plumbing();
      return e.build.gather(positions, iteration, 0);
    }();
    return e.node("SequenceAt", {sequence, position});
  });
}

Value places_in_sequence(Emission& e, const Value& sequence) {
  return e.node("Range", {e.build.integer(0), e.node("SequenceLength", {sequence}), e.build.integer(1)});
}

// ---- Reading

void item(Emission& e) {
  const Operand& given = operand_at(e, 0);
  const auto index = e.call.integer("idx");
  if (const List* list = given.list(); list && index) {
    const std::int64_t at = *index < 0 ? *index + static_cast<std::int64_t>(list->items.size()) : *index;
    if (at < 0 || at >= static_cast<std::int64_t>(list->items.size()))
      throw Refusal{"the list has no member " + std::to_string(*index)};
    return e.give_operand(0, list->items[static_cast<std::size_t>(at)]);
  }
  const Value at = int_scalar(e, "idx");
  if (!holds_numbers(e, 0)) return e.give_operand(0, {e.node("SequenceAt", {sequence_at(e, 0), at})});
  const Value members = vector_at(e, 0);
  const auto place = [&] {
    const auto position = e.build.plumbing();
    return index && *index >= 0 ? at : wrapped_if_needed(e, at, e.build.squeeze(sizes_of(e, members), {0}));
  }();
  e.give_operand(0, {Number{e.build.gather(members, place, 0)}});
}

void length(Emission& e) {
  const Operand& given = operand_at(e, 0);
  if (const List* list = given.list()) return e.give(e.build.integer(static_cast<std::int64_t>(list->items.size())));
  if (const auto* sequence = std::get_if<Sequence>(&given.value)) return e.give(e.node("SequenceLength", {sequence->value}));
  e.give(e.node("Size", {vector_at(e, 0)}));
}

void tensor_length(Emission& e) { e.give(e.build.squeeze(e.size_of("t", 0), {0})); }
void same_list(Emission& e) { e.give_operand(0, operand_at(e, 0)); }

// Gives as many members as the facts state, if they do.
void give_sequence(Emission& e, const Value& sequence) {
  const auto* facts = e.output_fact(0).list();
  if (!facts || !facts->items) return e.give_operand(0, {Sequence{sequence}});
  List members;
  for (std::size_t i = 0; i < facts->items->size(); ++i)
    members.items.push_back({e.node("SequenceAt", {sequence, e.build.integer(static_cast<std::int64_t>(i))})});
  e.give_operand(0, {std::move(members)});
}

// Members of a list of known length; false if the bounds aren't known.
bool give_known_slice(Emission& e) {
  const List* list = operand_at(e, 0).list();
  const auto start = e.call.integer("start"), end = e.call.integer("end"), step = e.call.integer("step");
  if (!list || !step || *step == 0 || (e.given("start") && !start) || (e.given("end") && !end)) return false;
  List members;
  for (const std::int64_t i : ir::slice_places(static_cast<std::int64_t>(list->items.size()), start, end, *step))
    members.items.push_back(list->items[static_cast<std::size_t>(i)]);
  e.give_operand(0, {std::move(members)});
  return true;
}

// The default ends depend on the direction: l[::-1] goes from the last item to before the first.
void slice_of_list(Emission& e) {
  if (give_known_slice(e)) return;
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  const auto step = e.call.integer("step");
  if (!step && !(e.given("start") && e.given("end")))
    throw Refusal{"a slice without both bounds needs a step that is known", "use a number as the step"};
  const bool forward = !step || *step > 0;
  const auto bound = [&](std::string_view argument, std::int64_t if_none) {
    return e.given(argument) ? int_value(e, argument) : e.integers({if_none});
  };
  const bool numbers = holds_numbers(e, 0);
  const Value from = numbers ? vector_at(e, 0) : sequence_at(e, 0);
  const Value cut = sliced(e, numbers ? from : places_in_sequence(e, from), 0, bound("start", forward ? 0 : most),
                           bound("end", forward ? most : least), int_value(e, "step"));
  if (numbers) return e.give_vector(0, cut);
  give_sequence(e, members_at(e, from, cut));
}

void tolist(Emission& e) {
  const Value given = e.as_tensor(e.input(0), "data");
  const symbolic::Fact& fact = e.call.input(0);
  if (!fact.tensor() || !fact.tensor()->shape)
    throw Wanting{{.truth = symbolic::Truth::unknown,
                   .message = "the rank of the tensor isn't known",
                   .wants = fact.wants,
                   .blame = fact.blame}};
  if (fact.tensor()->shape->size() > 1) throw Refusal{"only vectors become lists", "keep the tensor, or flatten it"};
  if (fact.tensor()->shape->empty()) return e.give(given);
  e.give_vector(0, given);
}

// ---- Joining

void concatenate(Emission& e) {
  const List *a = operand_at(e, 0).list(), *b = operand_at(e, 1).list();
  if (a && b) {
    List all = *a;
    all.items.insert(all.items.end(), b->items.begin(), b->items.end());
    return e.give_operand(0, {std::move(all)});
  }
  if (holds_numbers(e, 0)) return e.give_vector(0, e.build.concat({vector_at(e, 0), vector_at(e, 1)}, 0));
  if (!a && !b) {
    const Value first = sequence_at(e, 0), second = sequence_at(e, 1);
    if (first.dtype != second.dtype) throw Refusal{"ONNX has no list of tensors of several dtypes", "use tensors of one dtype"};
    const Value made = with_more(e, first, e.node("SequenceLength", {second}), [&](const Value& iteration) {
      return e.node("SequenceAt", {second, iteration});
    });
    return e.give_operand(0, {Sequence{made}});
  }
  Value made = sequence_at(e, a ? 1 : 0);
  const List& members = a ? *a : *b;
  for (std::size_t i = 0; i < members.items.size(); ++i) {
    Values inputs{made, e.cast(e.as_tensor(members.items[i], "a"), made.dtype)};
    if (a) inputs.push_back(e.build.integer(static_cast<std::int64_t>(i)));  // inserts in front
    made = e.node("SequenceInsert", inputs);
  }
  e.give_operand(0, {Sequence{made}});
}

void give_repeated(Emission& e, std::size_t list, std::string_view argument) {
  const Value count = int_value(e, argument);  // TorchScript raises where it is negative, and Tile fails
  if (holds_numbers(e, list)) return e.give_vector(0, e.node("Tile", {vector_at(e, list), count}));
  const Value from = sequence_at(e, list);
  give_sequence(e, members_at(e, from, e.node("Tile", {places_in_sequence(e, from), count})));
}
void repeat_left(Emission& e) { give_repeated(e, 0, "n"); }
void repeat_right(Emission& e) { give_repeated(e, 1, "n"); }

// ---- Comparing and ordering

// NaN is unequal to all. Before opset 11 Equal doesn't support doubles.
Value equal_numbers(Emission& e, const Value& x, const Value& y) {
  if (x.dtype != DType::f64 || e.at_least(11)) return e.node("Equal", {x, y});
  const Value apart = e.node("Or", {e.node("Less", {x, y}), e.node("Greater", {x, y})});
  const Value ordered =
      e.node("Or", {e.node("Less", {x, e.scalar(DType::f64, 0)}), e.node("Greater", {x, e.scalar(DType::f64, -1)})});
  return e.node("Not", {e.node("Or", {apart, e.node("Not", {ordered})})});
}

// Compares lists of unknown lengths: a + b and b + a have one length, and if a and b have one, they are equal only where a and b
// are.
Value equal_open_lists(Emission& e) {
  const Value a = vector_at(e, 0), b = vector_at(e, 1);
  const Value as_long = e.node("Equal", {e.node("Size", {a}), e.node("Size", {b})});
  const Value members = equal_numbers(e, e.build.concat({a, b}, 0), e.build.concat({b, a}, 0));
  return e.node("And", {as_long, e.node("Not", {any(e, e.node("Not", {members}))})});
}

Value equal_lists(Emission& e) {
  const List *a = operand_at(e, 0).list(), *b = operand_at(e, 1).list();
  if (!a || !b) return equal_open_lists(e);
  if (a->items.size() != b->items.size()) return e.scalar(DType::boolean, 0);
  if (a->items.empty()) return e.scalar(DType::boolean, 1);
  const Value equal = equal_numbers(e, vector_at(e, 0), vector_at(e, 1));
  return e.cast(e.node("ReduceMin", {e.cast(equal, DType::i32)}, {{"axes", Ints{0}}, {"keepdims", 0}}), DType::boolean);
}

void alike(Emission& e) { e.give(equal_lists(e)); }
void different(Emission& e) { e.give(e.node("Not", {equal_lists(e)})); }

void count(Emission& e) {
  const Value members = vector_at(e, 0), el = e.cast(e.tensor("el"), members.dtype);
  e.give(e.node("ReduceSum", {e.cast(equal_numbers(e, members, el), DType::i64)}, {{"axes", Ints{0}}, {"keepdims", 0}}));
}

template <bool all>
void all_or_any_of_list(Emission& e) {
  const Value holds = e.cast(vector_at(e, 0), DType::boolean);
  e.give(all ? e.node("Not", {any(e, e.node("Not", {holds}))}) : any(e, holds));
}

void sorted_list(Emission& e) {
  const Value given = vector_at(e, 0), members = given.dtype == DType::boolean ? e.cast(given, DType::i32) : given;
  const List* list = operand_at(e, 0).list();
  const Value length = list ? e.integers({static_cast<std::int64_t>(list->items.size())}) : sizes_of(e, members);
  if (e.at_least(11)) {
    const Value made = e.nodes("TopK", {members}, 2, {{"k", length}, {"axis", 0}, {"largest", 0}})[0];
    return e.give_vector(0, e.cast(made, given.dtype));
  }
  const Value made = e.nodes("TopK", {e.node("Neg", {members})}, 2, {{"k", length}, {"axis", 0}})[0];
  e.give_vector(0, e.cast(e.node("Neg", {made}), given.dtype));
}

void contains(Emission& e) {
  const Operand& list = e.operand("l");
  const Value item = e.tensor("item");
  Value whole;
  if (const auto* vector = std::get_if<Vector>(&list.value))
    whole = vector->value;
  else if (list.list())
    whole = vector_of(*list.list(), item.dtype, e.build);
  else
    throw Refusal{"'l' is no list of numbers"};
  e.give(any(e, equal(e, whole, item)));
}

}  // namespace

void register_sequence(Registry& registry) {
  for (const char* op : {"aten::__getitem__", "aten::select.t"}) registry.handler(op, item);
  registry.handler("aten::__contains__", contains);
  registry.handler("aten::len", length);
  registry.handler("aten::len.Tensor", tensor_length);
  registry.handler("aten::slice.t", slice_of_list);
  for (const char* op : {"aten::list.t", "aten::Size"}) registry.handler(op, same_list);
  registry.handler("prim::tolist", tolist);
  registry.handler("aten::add.t", concatenate);
  registry.handler("aten::mul.left_t", repeat_left);
  registry.handler("aten::mul.right_", repeat_right);
  for (const char* op : {"aten::eq.int_list", "aten::eq.float_list", "aten::eq.bool_list"}) registry.handler(op, alike);
  for (const char* op : {"aten::ne.int_list", "aten::ne.float_list", "aten::ne.bool_list"}) registry.handler(op, different);
  for (const char* op : {"aten::all.int", "aten::all.float", "aten::all.bool"}) registry.handler(op, all_or_any_of_list<true>);
  for (const char* op : {"aten::any.int", "aten::any.float", "aten::any.bool"}) registry.handler(op, all_or_any_of_list<false>);
  for (const char* op : {"aten::count.int", "aten::count.float", "aten::count.bool"}) registry.handler(op, count);
  for (const char* op : {"aten::sorted.int", "aten::sorted.float", "aten::sorted.bool"}) registry.handler(op, sorted_list);
}

}  // namespace compatcheck::handlers

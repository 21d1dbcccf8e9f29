// Cutting a tensor into a list.
#include <algorithm>
#include <limits>

#include "handlers/elementary.h"
#include "handlers/families.h"
#include "handlers/loop.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// The pieces that the facts list, by their sizes along `axis`; null if how many there are isn't known.
std::optional<std::vector<Dim>> piece_sizes(const Emission& e, std::int64_t axis) {
  const auto* list = e.call.facts().of(e.call.node().output()).list();
  if (!list || !list->items) return std::nullopt;
  std::vector<Dim> sizes;
  for (const symbolic::Fact& item : *list->items) {
    const auto* tensor = item.tensor();
    sizes.push_back(tensor && tensor->shape && axis < static_cast<std::int64_t>(tensor->shape->size())
                        ? (*tensor->shape)[static_cast<std::size_t>(axis)]
                        : Dim::unknown());
  }
  return sizes;
}

// Uses Split, where the sizes are known or all the same.
std::optional<Values> split_pieces(Emission& e, const Value& value, std::int64_t axis, const std::vector<Dim>& sizes) {
  if (sizes.size() == 1) return Values{value};
  Arguments attributes{{"axis", axis}};
  if (const auto numbers = numbers_of(sizes))
    attributes.push_back({"split", *numbers});
  else if (std::ranges::all_of(sizes, [&](const Dim& size) { return provably_equal(size, sizes.front()); })) {
    const auto count = static_cast<std::int64_t>(sizes.size());
    if (e.opset_at_least(18) && may_be_zero(sizes.front())) {  // then ONNX Runtime takes no number of outputs
      const Value one = quotient(e, size_at(e, value, axis), e.integers({count}));
      attributes.push_back({"split", e.build.concat(Values(sizes.size(), one), 0)});
    } else if (e.opset_at_least(18)) {
      attributes.push_back({"num_outputs", count});
    }
  } else
    return std::nullopt;
  return e.nodes("Split", {value}, sizes.size(), attributes);
}

// Slices between the bounds, which ONNX counts as Python does.
Values pieces_between(Emission& e, const Value& value, std::int64_t axis, const Values& bounds) {
  Values pieces;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) pieces.push_back(sliced(e, value, axis, bounds[i], bounds[i + 1]));
  return pieces;
}

Value end_of_all(Emission& e) { return e.integers({std::numeric_limits<std::int64_t>::max()}); }

// ---- Sequences

// ONNX Runtime's SplitToSequence doesn't take every dtype.
bool one_by_one(const Emission& e) { return e.variant("one_by_one") || e.variant("counted_one_by_one"); }

// Its pieces one by one.
Value put_together(Emission& e, DType dtype, const Value& count, const std::function<Value(const Value&)>& piece) {
  const Value none = empty_sequence(e, dtype);
  return with_more(e, none, e.build.reshape(count, {}), piece);
}

// `lengths`: an i64 vector.
Value cut(Emission& e, const Value& value, std::int64_t axis, const Value& lengths) {
  if (!one_by_one(e)) return e.node("SplitToSequence", {value, lengths}, {{"axis", axis}}, value.dtype);
  const Value ends = e.node("CumSum", {lengths, e.build.integer(0)});
  return put_together(e, value.dtype, e.node("Size", {lengths}), [&](const Value& i) {
    const Value at = e.build.reshape(i, {1}), end = e.build.gather(ends, at, 0);
    return sliced(e, value, axis, difference(e, end, e.build.gather(lengths, at, 0)), end);
  });
}

// PyTorch splits an empty dimension, too: into pieces without elements.
Value lengths_of_steps(Emission& e, const Value& size, const Value& step, const Value& pieces_of_nothing) {
  const Value nothing = e.integers({0}), empty = e.cast(e.node("Equal", {size, nothing}), DType::i64);
  const Value by = maximum(e, step, e.integers({1})), end = sum(e, size, product(e, empty, pieces_of_nothing));
  const Value starts = e.node("Range", {e.build.integer(0), e.build.squeeze(end, {0}), e.build.squeeze(by, {0})});
  return maximum(e, minimum(e, difference(e, size, starts), by), nothing);
}

// Pieces of `step` elements; the last one has the rest.
void give_steps(Emission& e, const Value& value, std::int64_t axis, const std::function<Value()>& step,
                const std::function<Value()>& pieces_of_nothing) {
  const auto sizes = piece_sizes(e, axis);
  if (!sizes) {
    if (may_be_zero(e.shape("self")[static_cast<std::size_t>(axis)]) || one_by_one(e))
      return e.give_operand(
          0, {Sequence{cut(e, value, axis, lengths_of_steps(e, e.size_of("self", axis), step(), pieces_of_nothing()))}});
    const Value each = e.build.squeeze(step(), {0});  // Split reads a vector as the sizes of all pieces
    return e.give_operand(0, {Sequence{e.node("SplitToSequence", {value, each}, {{"axis", axis}}, value.dtype)}});
  }
  if (auto pieces = split_pieces(e, value, axis, *sizes)) return e.give_list(0, *pieces);
  Values bounds{e.integers({0})};
  const Value by = step();
  for (std::size_t i = 1; i < sizes->size(); ++i) bounds.push_back(product(e, e.integers({static_cast<std::int64_t>(i)}), by));
  bounds.push_back(end_of_all(e));
  e.give_list(0, pieces_between(e, value, axis, bounds));
}

void give_sized(Emission& e, const Value& value, std::int64_t axis, std::string_view argument) {
  const auto sizes = piece_sizes(e, axis);
  if (!sizes) return e.give_operand(0, {Sequence{cut(e, value, axis, e.int_vector(argument))}});
  if (auto pieces = split_pieces(e, value, axis, *sizes)) return e.give_list(0, *pieces);
  const Value lengths = e.int_vector(argument);
  if (e.at_least(13)) return e.give_list(0, e.nodes("Split", {value}, sizes->size(), {{"axis", axis}, {"split", lengths}}));
  Values bounds{e.integers({0})};
  for (std::size_t i = 0; i < sizes->size(); ++i)
    bounds.push_back(sum(e, bounds.back(), e.build.gather(lengths, e.integers({static_cast<std::int64_t>(i)}), 0)));
  e.give_list(0, pieces_between(e, value, axis, bounds));
}

void split(Emission& e) {
  const std::string_view argument = e.call.has("split_size") ? "split_size" : "split_sizes";
  const std::int64_t axis = e.axis("dim");
  const Operand& given = e.operand(argument);
  if (given.list() || std::holds_alternative<Vector>(given.value) || e.call.fact(argument).list())
    return give_sized(e, e.tensor("self"), axis, argument);
  give_steps(
      e, e.tensor("self"), axis, [&] { return int_value(e, argument); }, [&] { return e.integers({1}); });
}

// Pieces of an unknown size are rounded up, so that the last piece is the short one.
void chunk(Emission& e) {
  const std::int64_t axis = e.axis("dim");
  const auto chunks = [&] { return int_value(e, "chunks"); };
  give_steps(
      e, e.tensor("self"), axis,
      [&] {
        const Value count = chunks();
        return quotient(e, sum(e, e.size_of("self", axis), difference(e, count, e.integers({1}))), count);
      },
      chunks);
}

// ---- By number of parts or by places

// The first n mod k parts are longer by one.
void give_sections(Emission& e, std::int64_t axis, std::int64_t count) {
  const Value size = e.size_of("self", axis), parts = e.integers({count}), least = quotient(e, size, parts);
  const Value extra = difference(e, size, product(e, least, parts));
  Values bounds{e.integers({0})};
  for (std::int64_t i = 1; i < count; ++i) {
    // i·least + min(i, extra)
    const Value more = e.at_least(12) ? e.node("Min", {e.integers({i}), extra})
                                      : e.cast(e.node("Min", {e.scalar(DType::f32, i), e.cast(extra, DType::f32)}), DType::i64);
    bounds.push_back(sum(e, product(e, e.integers({i}), least), e.build.reshape(more, {1})));
  }
  bounds.push_back(end_of_all(e));
  e.give_list(0, pieces_between(e, e.tensor("self"), axis, bounds));
}

void give_places(Emission& e, std::int64_t axis, const Value& places, std::size_t count) {
  Values bounds{e.integers({0})};
  for (std::size_t i = 0; i < count; ++i) bounds.push_back(e.build.gather(places, e.integers({static_cast<std::int64_t>(i)}), 0));
  bounds.push_back(end_of_all(e));
  e.give_list(0, pieces_between(e, e.tensor("self"), axis, bounds));
}

// Splits into a number of parts that a tensor holds at run time: a sequence.
void give_counted(Emission& e, std::int64_t axis) {
  const Value count = e.build.reshape(e.tensor("tensor_indices_or_sections", DType::i64), {});
  const Value size = e.build.squeeze(e.size_of("self", axis), {0});
  const Value least = quotient(e, size, count), extra = difference(e, size, product(e, least, count));
  const Value places = e.node("Range", {e.build.integer(0), count, e.build.integer(1)});
  const Value sizes = sum(e, e.cast(e.node("Less", {places, extra}), DType::i64), least);
  e.give_operand(0, {Sequence{cut(e, e.tensor("self"), axis, sizes)}});
}

void give_cut(Emission& e, std::int64_t axis) {
  const auto sizes = piece_sizes(e, axis);
  if (!sizes && (e.variant("counted") || e.variant("counted_one_by_one"))) return give_counted(e, axis);
  if (!sizes)
    throw Refusal{"how many parts there are is known only when the model runs", "use a number of parts that is a constant"};
  const auto whole = e.size("self", axis);
  const auto numbers = numbers_of(*sizes);
  std::int64_t total = 0;
  for (const std::int64_t size : numbers.value_or(Ints{})) total += size;
  // Places that aren't in order give parts that overlap.
  if (numbers && whole && total == *whole) return e.give_list(0, *split_pieces(e, e.tensor("self"), axis, *sizes));
  if (const auto equal = provably_equal(Dim(static_cast<std::int64_t>(sizes->size())) * sizes->front(),
                                        e.shape("self")[static_cast<std::size_t>(axis)]);
      equal && e.call.has("sections"))
    return e.give_list(0, *split_pieces(e, e.tensor("self"), axis, *sizes));
  if (e.call.has("sections")) return give_sections(e, axis, e.integer("sections"));
  if (e.call.has("indices")) return give_places(e, axis, e.int_vector("indices"), sizes->size() - 1);
  if (e.rank("tensor_indices_or_sections") == 0) return give_sections(e, axis, static_cast<std::int64_t>(sizes->size()));
  give_places(e, axis, e.tensor("tensor_indices_or_sections", DType::i64), sizes->size() - 1);
}

void tensor_split(Emission& e) { give_cut(e, e.axis("dim")); }
void hsplit(Emission& e) { give_cut(e, e.rank("self") == 1 ? 0 : 1); }
void vsplit(Emission& e) { give_cut(e, 0); }
void dsplit(Emission& e) { give_cut(e, 2); }

// ---- Into single rows

void unbind(Emission& e) {
  const std::int64_t axis = e.axis("dim");
  const Value self = e.tensor("self");
  const auto* list = e.call.facts().of(e.call.node().output()).list();
  if (!list || !list->items) {
    const Value rows = one_by_one(e) ? put_together(e, self.dtype, e.size_of("self", axis),
                                                    [&](const Value& i) { return e.build.gather(self, i, axis); })
                                     : e.node("SplitToSequence", {self}, {{"axis", axis}, {"keepdims", 0}}, self.dtype);
    return e.give_operand(0, {Sequence{rows}});
  }
  Values rows = *split_pieces(e, self, axis, std::vector<Dim>(list->items->size(), Dim(1)));
  for (Value& row : rows) row = e.build.squeeze(row, {axis});
  e.give_list(0, rows);
}

}  // namespace

void register_split(Registry& registry) {
  for (const char* op : {"aten::split", "aten::split_with_sizes"}) registry.handler(op, split, {"one_by_one"});
  for (const char* op : {"aten::chunk", "aten::unsafe_chunk"}) registry.handler(op, chunk, {"one_by_one"});
  registry.handler("prim::ConstantChunk", chunk);
  registry.handler("prim::ConstantSplit", split);
  registry.handler("aten::tensor_split", tensor_split, {"counted", "counted_one_by_one"});
  registry.handler("aten::hsplit", hsplit);
  registry.handler("aten::vsplit", vsplit);
  registry.handler("aten::dsplit", dsplit);
  registry.handler("aten::unbind", unbind, {"one_by_one"});
}

}  // namespace compatcheck::handlers

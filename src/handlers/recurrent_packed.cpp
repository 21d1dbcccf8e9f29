#include "handlers/recurrent_packed.h"

#include <algorithm>

#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

Value length_at(Emission& e, const Value& value, std::int64_t axis) {
  return e.build.gather(e.node("Shape", {value}), e.integers({axis}), 0);
}

// 0 … count − 1; `count` is an i64 vector of one.
Value counted_up(Emission& e, const Value& count) {
  if (const auto known = e.build.ints_of(count))
    return e.integers(
        ir::listed<std::int64_t>(static_cast<double>(known->front()), [](double i) { return static_cast<std::int64_t>(i); }));
  if (e.at_least(11)) return e.node("Range", {e.build.integer(0), e.build.squeeze(count, {0}), e.build.integer(1)});
  const Value ones = e.node("ConstantOfShape", {count}, {{"value", onnx::make_tensor(DType::i64, {1}, Ints{1})}}, DType::i64);
  return e.build.squeeze(e.node("NonZero", {ones}), {0});
}

// Rows × columns: whether the column is below the row's number. `numbers` is a vector.
Value below(Emission& e, const Value& numbers, const Value& columns) {
  return e.node("Less", {e.build.unsqueeze(columns, {0}), e.build.unsqueeze(numbers, {1})});
}

Value count_true(Emission& e, const Value& mask, std::int64_t axis) {
  return e.node("ReduceSum", {e.cast(mask, DType::i64)}, {{"axes", Ints{axis}}, {"keepdims", 0}});
}

Value at_front(Emission& e, const Value& vector) { return e.build.gather(vector, e.integers({0}), 0); }

void need_opset_9(Emission& e) {
  if (!e.at_least(9)) throw Refusal{"packed sequences need NonZero and Where, which came with opset 9", "use opset 9"};
}

// (time, batch): whether the sequence has that step.
Value steps_there(Emission& e, const Value& lengths, const Value& times) {
  return e.build.transpose(below(e, lengths, counted_up(e, times)), {1, 0});
}

// The first `count` steps: Slice's bounds are inputs only from opset 10 on.
Value first_steps(Emission& e, const Value& steps, const Value& count) {
  if (e.at_least(10)) return e.node("Slice", {steps}, {{"starts", Ints{0}}, {"ends", count}, {"axes", Ints{0}}});
  return e.build.gather(steps, counted_up(e, count), 0);
}

// Steps of the packed data before each step: sums of the sizes before it, exact in f64.
Value offsets(Emission& e, const Value& sizes) {
  const Value times = counted_up(e, length_at(e, sizes, 0));
  const Value before = e.cast(below(e, times, times), DType::f64);
  return e.cast(e.build.squeeze(e.node("MatMul", {before, e.build.unsqueeze(e.cast(sizes, DType::f64), {1})}), {1}), DType::i64);
}

// Made of the data and its batch sizes, with as many steps as `there` has; after the end of a sequence any row.
Value unpacked(Emission& e, const Value& data, const Value& sizes, const Value& there) {
  const Value batch = counted_up(e, at_front(e, sizes));
  const Value places = e.node("Add", {e.build.unsqueeze(offsets(e, sizes), {1}), e.build.unsqueeze(batch, {0})});
  return e.build.gather(data, e.node("Where", {there, places, e.build.integer(0)}), 0);
}

Value where_there(Emission& e, const Value& there, const Value& steps, std::int64_t rank, const Value& otherwise) {
  Ints axes;
  for (std::int64_t axis = 2; axis < rank; ++axis) axes.push_back(axis);
  return e.node("Where", {e.build.unsqueeze(there, axes), steps, otherwise});
}

}  // namespace

Padded padded_of(Emission& e, const Value& data, const Value& sizes, std::int64_t rank) {
  if (const Values known = e.build.made_of(data); known.size() == 2) return {known[0], known[1], false};
  if (const Values known = e.build.made_of(data); known.size() == 3) return {known[0], known[1], true};
  need_opset_9(e);
  const Value there = below(e, sizes, counted_up(e, at_front(e, sizes)));
  const Value zero = e.scalar(data.dtype, 0);
  return {where_there(e, there, unpacked(e, data, sizes, there), rank + 1, zero), count_true(e, there, 0), true};
}

Value packed_of(Emission& e, const Padded& padded, std::int64_t rank) {
  need_opset_9(e);
  const Value there = e.build.reshape(steps_there(e, padded.lengths, length_at(e, padded.steps, 0)), {-1});
  const Value shape = e.node("Shape", {padded.steps});
  const Value rows =
      e.build.reshape_by(padded.steps, e.build.concat({e.integers({-1}), e.build.slice(shape, {2}, {rank}, {0})}, 0));
  const Value data = e.node("Compress", {rows, there}, {{"axis", 0}});
  // Readers of the sequence use the padded data; the packed data is dropped if nothing else reads it.
  Values parts{padded.steps, padded.lengths};
  if (padded.zero_beyond) parts.push_back(padded.steps);
  e.build.remember(data, parts);
  return data;
}

namespace {

void pack(Emission& e) {
  const std::int64_t rank = e.rank("input");
  Value steps = e.tensor("input");
  if (e.boolean("batch_first")) {
    Ints order{1, 0};
    for (std::int64_t axis = 2; axis < rank; ++axis) order.push_back(axis);
    steps = e.build.transpose(steps, order);
  }
  const Value lengths = e.tensor("lengths", DType::i64);
  e.give(0, packed_of(e, {steps, lengths, false}, rank));
  e.give(1, count_true(e, below(e, lengths, counted_up(e, at_front(e, lengths))), 0));
}

// Whether there are as many steps as the longest sequence has: no total length is given, or the number of batch sizes is, as in
// PyTorch's own Python.
bool as_long_as_longest(const Emission& e) {
  if (const auto known = e.call.integer("total_length"); known && *known <= 0) return true;
  const ir::Value* from = e.call.value("total_length");
  static constexpr std::string_view same[] = {"aten::Int", "aten::IntImplicit", "prim::NumToTensor"};
  while (from->producer() && std::ranges::find(same, from->producer()->op()) != std::end(same)) from = from->producer()->input(0);
  const ir::Node* node = from->producer();
  return node && (node->is("aten::size") || node->is("aten::len")) && node->input(0) == e.call.value("batch_sizes");
}

void unpack(Emission& e) {
  const std::int64_t rank = e.rank("data") + 1;
  const bool longest = as_long_as_longest(e);
  const Value data = e.tensor("data"), sizes = e.tensor("batch_sizes");
  const double padding = e.number("padding_value");
  Padded padded;
  const Values known = e.build.made_of(data);
  if (longest && !known.empty()) {
    padded = padded_of(e, data, sizes, rank - 1);
    padded.steps = first_steps(e, padded.steps, at_front(e, padded.lengths));
    if (!padded.zero_beyond || padding != 0)
      padded.steps = where_there(e, steps_there(e, padded.lengths, length_at(e, padded.steps, 0)), padded.steps, rank,
                                 e.scalar(data.dtype, padding));
  } else {
    need_opset_9(e);
    Value all = sizes;  // steps beyond the longest sequence have none
    if (!longest) {
      const Value more = e.node("Sub", {e.int_vector("total_length"), length_at(e, sizes, 0)});
      const Value none = e.node("ConstantOfShape", {more}, {{"value", onnx::make_tensor(DType::i64, {1}, Ints{0})}}, DType::i64);
      all = e.build.concat({sizes, none}, 0);
    }
    const Value there = below(e, all, counted_up(e, at_front(e, sizes)));
    padded = {where_there(e, there, unpacked(e, data, all, there), rank, e.scalar(data.dtype, padding)), count_true(e, there, 0),
              true};
  }
  if (e.boolean("batch_first")) {
    Ints order{1, 0};
    for (std::int64_t axis = 2; axis < rank; ++axis) order.push_back(axis);
    padded.steps = e.build.transpose(padded.steps, order);
  }
  e.give(0, padded.steps);
  e.give(1, padded.lengths);
}

}  // namespace

void register_recurrent_packed(Registry& registry) {
  registry.handler("aten::_pack_padded_sequence", pack);
  registry.handler("aten::_pad_packed_sequence", unpack);
}

}  // namespace compatcheck::handlers

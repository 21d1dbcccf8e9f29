// Embeddings, and bags of them. padding_idx of a plain embedding, scale_grad_by_freq and sparse change gradients only.
#include <cmath>
#include <limits>

#include "handlers/families.h"
#include "handlers/quantized.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

void embedding(Emission& e) { e.give(e.build.gather(e.tensor("weight"), e.tensor("indices", DType::i64), 0)); }

void embedding_byte(Emission& e) {
  e.give(quantized_rows(e, e.operand("weight"), e.tensor("indices", DType::i64), e.rank("indices")));
}

// Rows that are looked up and longer than max_norm are scaled to it. A row looked up twice is written twice, the same.
void embedding_renorm(Emission& e) {
  const Value self = e.tensor("self"), at = e.build.reshape(e.tensor("indices", DType::i64), {-1});
  const Value rows = e.build.gather(self, at, 0);
  const double p = e.number("norm_type"), most = e.number("max_norm");
  const Ints last{1};
  Value norm;
  if (p == 1 || p == 2)
    norm = e.node(p == 1 ? "ReduceL1" : "ReduceL2", {rows}, {{"axes", last}, {"keepdims", 1}});
  else {
    if (p == 0 || std::isinf(p)) throw Refusal{"this norm has no ONNX form", "use norm_type 1 or 2"};
    const Value powers =
        e.node("ReduceSum", {e.node("Pow", {e.node("Abs", {rows}), e.scalar(rows.dtype, p)})}, {{"axes", last}, {"keepdims", 1}});
    norm = e.node("Pow", {powers, e.scalar(rows.dtype, 1 / p)});
  }
  const Value scale = e.node("Div", {e.scalar(rows.dtype, most), e.node("Add", {norm, e.scalar(rows.dtype, 1e-7)})});
  const Value scaled = e.node(
      "Mul", {rows, e.node("Where", {e.node("Greater", {norm, e.scalar(rows.dtype, most)}), scale, e.scalar(rows.dtype, 1)})});
  if (e.at_least(11)) return e.give(e.node("ScatterND", {self, e.build.unsqueeze(at, {1}), scaled}));
  e.give(e.node("Scatter", {self, e.node("Expand", {e.build.unsqueeze(at, {1}), sizes_of(e, rows)}), scaled}, {{"axis", 0}}));
}

// ---- Bags

struct Bags {
  Value rows;    // [positions, features], weighted
  Value counts;  // [positions]: whether the position counts, as bool; absent: all do
  Value starts;  // i64 [bags]
  Value places;  // 0, 1, … of the positions
  Value count;   // number of positions, i64 vector of one
};

std::optional<std::int64_t> padding_index(Emission& e) {
  if (!e.call.has("padding_idx") || !e.given("padding_idx")) return std::nullopt;
  const std::int64_t index = e.integer("padding_idx");
  if (index >= 0) return index;
  if (e.call.op() != "aten::embedding_bag") return std::nullopt;  // −1: none
  return index + e.known_size("weight", 0);
}

Bags bags_of(Emission& e) {
  const Value indices = e.tensor("indices", DType::i64);
  if (e.rank("indices") != 1) throw Refusal{"bags are cut by offsets out of one vector of indices"};
  Bags bags;
  bags.rows = e.call.op() == "quantized::embedding_bag_byte" ? quantized_rows(e, e.operand("weight"), indices, 1)
                                                             : e.build.gather(e.tensor("weight"), indices, 0);
  if (e.given("per_sample_weights"))
    bags.rows = e.node("Mul", {bags.rows, e.build.unsqueeze(e.tensor("per_sample_weights", bags.rows.dtype), {1})});
  if (const auto padding = padding_index(e)) bags.counts = e.node("Not", {e.node("Equal", {indices, e.build.integer(*padding)})});
  bags.starts = e.tensor("offsets", DType::i64);
  bags.count = e.size_of("indices", 0);
  bags.places = places_of(e, bags.count);
  return bags;
}

Value over_positions(Emission& e, const char* op, const Value& value, bool keep, std::int64_t axis = 1) {
  return e.node(op, {value}, {{"axes", Ints{axis}}, {"keepdims", keep ? 1 : 0}});
}

// [bags, positions]: whether the position is in the bag. The number of bags that start at or before a position determines its
// bag, as in PyTorch also for offsets that don't increase. `to_the_end`: the last bag has all remaining positions, whatever
// the last offset is.
Value members(Emission& e, const Bags& bags, bool to_the_end) {
  Value starts = bags.starts, count = e.size_of("offsets", 0);
  if (e.boolean("include_last_offset")) {
    count = difference(e, count, e.integers({1}));
    const auto marked = e.build.plumbing();
    if (to_the_end) starts = e.build.slice(starts, {0}, {-1}, {0});
  }
  const Value begun = e.cast(e.node("Not", {e.node("Less", {bags.places, e.build.unsqueeze(starts, {1})})}), DType::i64);
  const Value number = over_positions(e, "ReduceSum", begun, true, 0);
  return e.node("Equal", {number, e.build.unsqueeze(e.node("Add", {places_of(e, count), e.integers({1})}), {1})});
}

// PyTorch keeps the first element unless a later one is greater: a first NaN stays, later ones are ignored. There may be no
// position at all, so nothing is read by position.
Value greatest_of_bags(Emission& e, const Bags& bags, const Value& inside) {
  const DType dtype = bags.rows.dtype;
  const auto any = [&](const Value& found) {  // along the positions
    return e.cast(over_positions(e, "ReduceSum", e.cast(found, DType::f32), false), DType::boolean);
  };
  const Value rows = e.build.unsqueeze(bags.rows, {0}), is_nan = e.node("IsNaN", {rows}), held = e.build.unsqueeze(inside, {2});
  const Value usable = e.node("And", {held, e.node("Not", {is_nan})});
  const Value most = over_positions(
      e, "ReduceMax", e.node("Where", {usable, rows, e.scalar(dtype, -std::numeric_limits<double>::infinity())}), false);
  const Value places = e.node("Where", {inside, bags.places, e.build.integer(std::numeric_limits<std::int64_t>::max())});
  const Value first = e.node("Equal", {bags.places, over_positions(e, "ReduceMin", places, true)});
  const Value leads = any(e.node("And", {e.build.unsqueeze(first, {2}), is_nan}));
  const Value made = e.node("Where", {leads, e.scalar(dtype, std::numeric_limits<double>::quiet_NaN()), most});
  return e.node("Where", {e.build.unsqueeze(any(inside), {1}), made, e.scalar(dtype, 0)});
}

// PyTorch sums packed rows in every mode.
std::int64_t mode_of(Emission& e) { return e.call.op() == "quantized::embedding_bag_byte" ? 0 : e.integer("mode"); }

// Sums every bag over a table of bags and positions. Rows of other bags count as 0, whatever they hold; an empty bag is 0.
void embedding_bag(Emission& e) {
  const Bags bags = bags_of(e);
  const auto counted = [&](bool to_the_end) {
    const Value inside = members(e, bags, to_the_end);
    return bags.counts ? e.node("And", {inside, bags.counts}) : inside;
  };
  // PyTorch's fast kernel for sums ends the last bag at the last offset; all else, the number of a mean's elements too, at the
  // end.
  const std::int64_t mode = mode_of(e);
  const bool fast = mode != 2 && bags.rows.dtype != DType::f64 && !bags.counts;
  const Value inside = counted(!fast);
  const Value held = e.build.unsqueeze(inside, {2}), rows = e.build.unsqueeze(bags.rows, {0});
  const DType dtype = bags.rows.dtype;
  if (mode == 2) return e.give(greatest_of_bags(e, bags, inside));
  const Value sums = over_positions(e, "ReduceSum", e.node("Where", {held, rows, e.scalar(dtype, 0)}), false);
  if (mode == 0) return e.give(sums);
  const Value averaged = fast && e.boolean("include_last_offset") ? counted(true) : inside;
  const Value number = over_positions(e, "ReduceSum", e.cast(averaged, dtype), true);
  const Value divisor = e.node("Where", {e.cast(number, DType::boolean), number, e.scalar(dtype, 1)});
  e.give(e.node("Div", {sums, divisor}));
}

}  // namespace

void register_embedding(Registry& registry) {
  registry.handler("aten::embedding", embedding);
  registry.handler("aten::embedding_renorm", embedding_renorm);
  registry.handler("aten::embedding_bag", embedding_bag);
  registry.handler("quantized::embedding_byte", embedding_byte);
  registry.handler("quantized::embedding_bag_byte", embedding_bag);
}

}  // namespace compatcheck::handlers

// Sorting.
#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/order.h"

namespace compatcheck::handlers {
namespace {

SortOrder direction(bool downwards) { return downwards ? SortOrder::downwards : SortOrder::upwards; }

void give(Emission& e, const Ordered& found) {
  e.give(0, found.values);
  e.give(1, found.indices);
}

Ordered first(Emission& e, const Value& x, std::int64_t axis, const Value& k, SortOrder order) {
  if (is_floating(x) && !minds_nan(e, x)) return first_of_numbers(e, x, axis, k, order);
  return first_in_order(e, x, e.shape("self"), axis, k, order);
}

void topk(Emission& e) {
  const Value x = e.tensor("self");
  if (e.rank("self") == 0) return give(e, {x, e.scalar(DType::i64, 0)});
  give(e, first(e, x, e.axis("dim"), e.int_vector("k"), direction(e.boolean("largest"))));
}

Ordered sorted(Emission& e, std::int64_t axis) {
  const Value x = e.tensor("self");
  if (e.rank("self") == 0) return {x, e.scalar(DType::i64, 0)};
  return first(e, x, axis, e.size_of("self", axis), direction(e.boolean("descending")));
}

void sort(Emission& e) { give(e, sorted(e, e.axis("dim"))); }
void argsort(Emission& e) { e.give(sorted(e, e.axis("dim")).indices); }
void msort(Emission& e) { e.give(sorted(e, 0).values); }

// How many of the sequence are less than each value, or not greater. NaN is the greatest.
void searchsorted(Emission& e) {
  const std::int64_t depth = e.rank("sorted_sequence");
  const bool right = e.boolean("right") || (e.given("side") && e.string("side") == "right");
  symbolic::Promotion promotion;
  for (const char* operand : {"sorted_sequence", "self"}) promotion.add(e.call.fact(operand));
  const auto common = promotion.result();
  if (!common) e.want("self", "the dtype");
  // Comparisons take floats alone before opset 9; f64 has room for i32.
  const bool wide = !e.at_least(9) && !ir::is_floating(*common);
  if (wide && *common == DType::i64) throw Refusal{"Less doesn't support i64 before opset 9", "use opset 9"};
  const DType dtype = wide ? DType::f64 : *common;
  Value sequence = e.tensor("sorted_sequence", dtype), value = e.tensor("self", dtype);
  if (e.given("sorter")) sequence = e.node("GatherElements", {sequence, e.tensor("sorter")}, {{"axis", depth - 1}});
  const std::int64_t rank = e.rank("self");
  value = e.build.unsqueeze(value, {rank});
  if (depth > 1) sequence = e.build.unsqueeze(sequence, {depth - 1});
  // sequence < value, or not value < sequence
  Value before = right ? e.node("Not", {e.node("Less", {value, sequence})}) : e.node("Less", {sequence, value});
  if (ir::is_floating(dtype)) {
    const Value nan_value = is_nan(e, value), nan_sequence = is_nan(e, sequence);
    // Left of NaN are all numbers; right of it is everything, and NaN is right of every number.
    before = right ? e.node("Or", {nan_value, e.node("And", {before, e.node("Not", {nan_sequence})})})
                   : e.node("Or", {before, e.node("And", {nan_value, e.node("Not", {nan_sequence})})});
  }
  e.give(e.cast(e.node("ReduceSum", {e.cast(before, DType::i64)}, {{"axes", Ints{rank}}, {"keepdims", 0}}), e.output_dtype()));
}

// ---- Order statistics

void kthvalue(Emission& e) {
  const Value x = e.tensor("self");
  if (e.rank("self") == 0) return give(e, {x, e.scalar(DType::i64, 0)});
  const std::int64_t axis = e.axis("dim");
  const Value k = e.int_vector("k");
  const Ordered lowest = first_in_order(e, x, e.shape("self"), axis, k, SortOrder::upwards);
  const bool keep = e.boolean("keepdim");
  const auto last = [&](const Value& of) {
    const Value one = part(e, of, axis, -1, to_end);
    return keep ? one : e.build.squeeze(one, {axis});
  };
  if (e.output_used(0)) e.give(0, last(lowest.values));
  if (e.output_used(1)) e.give(1, last(lowest.indices));
}

}  // namespace

void register_sort(Registry& registry) {
  registry.handler("aten::topk", topk);
  registry.handler("aten::sort", sort);
  registry.handler("aten::sort.stable", sort);
  registry.handler("aten::argsort", argsort);
  registry.handler("aten::msort", msort);
  registry.handler("aten::searchsorted", searchsorted);
  registry.handler("aten::kthvalue", kthvalue);
}

}  // namespace compatcheck::handlers

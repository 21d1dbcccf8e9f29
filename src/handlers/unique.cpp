// Distinct elements, and runs of equal ones. Every NaN is distinct.
#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/order.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// For every element or slice along axis 0: whether a run starts there.
Value starts_of_runs(Emission& e, const Value& x, std::int64_t rank) {
  const Value later = part(e, x, 0, 1, to_end), earlier = part(e, x, 0, 0, -1);
  Value differs = e.node("Not", {equal(e, later, earlier)});
  if (rank > 1) {
    Ints axes = all_axes(rank);
    axes.erase(axes.begin());
    differs = e.cast(reduce(e, "ReduceMax", e.cast(differs, DType::i32), axes, false), DType::boolean);
  }
  // The first starts one, if there is any.
  const Value count = e.build.gather(e.node("Shape", {x}), e.integers({0}), 0);
  const Value first = e.node("Greater", {e.node("Shape", {differs}), e.integers({-1})});
  const Value all = e.build.concat({first, differs}, 0);
  return e.node("Slice", {all}, {{"starts", e.integers({0})}, {"ends", count}, {"axes", Ints{0}}});
}

struct Runs {
  Value places, number, counts;
};  // start of each run; run of each element; length of each run

Runs runs_of(Emission& e, const Value& x, std::int64_t rank) {
  const Value starts = starts_of_runs(e, x, rank);
  const Value places = e.build.squeeze(e.node("NonZero", {starts}), {0});
  const Value count = e.build.gather(e.node("Shape", {x}), e.integers({0}), 0);
  const Value number =
      e.node("Sub", {e.node("CumSum", {e.cast(starts, DType::i64), e.scalar(DType::i64, 0)}), e.scalar(DType::i64, 1)});
  const Value ends = e.build.concat({part(e, places, 0, 1, to_end), count}, 0);
  // Without elements there is one end too many.
  const Value fitting =
      e.node("Slice", {ends}, {{"starts", e.integers({0})}, {"ends", e.node("Shape", {places})}, {"axes", Ints{0}}});
  return {places, number, e.node("Sub", {fitting, places})};
}

bool is_set(Emission& e, std::string_view argument) { return e.call.has(argument) && e.boolean(argument); }

void give_or_nothing(Emission& e, std::size_t output, bool given, const Value& value) {
  if (e.output_used(output)) e.give(output, given ? value : no_elements(e, DType::i64));
}

Value like_self(Emission& e, const Value& flat) {
  return e.rank("self") == 1 ? flat : reshape_to(e, flat, nullptr, known_shape(e, "self"), [&] { return e.shape_of("self"); });
}

// Converts bools to integers, which Unique compares.
Value comparable(Emission& e, const Value& x) { return x.dtype == DType::boolean ? e.cast(x, DType::i64) : x; }

// Sorted, then run by run. `all`: the inverse and the counts are given unasked.
void unique_by_order(Emission& e, bool all) {
  const Value x = e.build.reshape(e.tensor("self"), {-1});
  Dim count = 1;
  for (const Dim& dim : e.shape("self")) count = count * dim;
  const Value size = e.node("Shape", {x});
  const Ordered sorted = first_in_order(e, x, {count}, 0, size, SortOrder::upwards);
  const Runs runs = runs_of(e, sorted.values, 1);
  e.give(0, e.build.gather(sorted.values, runs.places, 0));
  if (e.output_used(1)) {
    const bool given = all || is_set(e, "return_inverse");
    give_or_nothing(
        e, 1, given,
        given ? like_self(e, e.node("ScatterElements", {sorted.indices, sorted.indices, runs.number}, {{"axis", 0}})) : Value{});
  }
  if (e.call.node().outputs().size() > 2) give_or_nothing(e, 2, all || is_set(e, "return_counts"), runs.counts);
}

void unique(Emission& e) {
  if (!e.variant("operator")) return unique_by_order(e, false);
  const Value x = e.tensor("self");
  const auto made = e.nodes("Unique", {comparable(e, x)}, 4, {{"sorted", 1}});
  e.give(0, made[0]);
  const bool inverse = is_set(e, "return_inverse");
  if (e.output_used(1)) give_or_nothing(e, 1, inverse, inverse ? like_self(e, made[2]) : Value{});
  if (e.call.node().outputs().size() > 2) give_or_nothing(e, 2, is_set(e, "return_counts"), made[3]);
}

void unique_dim(Emission& e) {
  if (!e.variant("operator")) return unique_by_order(e, true);
  const Value x = e.tensor("self");
  const auto made = e.nodes("Unique", {comparable(e, x)}, 4, {{"sorted", 1}, {"axis", e.axis("dim")}});
  e.give(0, made[0]);
  if (e.output_used(1)) e.give(1, made[2]);
  if (e.output_used(2)) e.give(2, made[3]);
}

void unique_consecutive(Emission& e) {
  const Value x = e.tensor("self");
  const std::int64_t rank = e.rank("self");
  const bool along = e.given("dim") && rank > 1;
  Ints order = all_axes(rank);
  const std::int64_t axis = along ? e.axis("dim") : 0;
  if (along) std::swap(order[0], order[static_cast<std::size_t>(axis)]);
  const Value rows = along ? e.build.transpose(x, order) : e.build.reshape(x, {-1});
  const Runs runs = runs_of(e, rows, along ? rank : 1);
  const Value kept = e.build.gather(along ? x : rows, runs.places, axis);
  e.give(0, kept);
  const bool inverse = is_set(e, "return_inverse");
  if (e.output_used(1)) give_or_nothing(e, 1, inverse, inverse && !along ? like_self(e, runs.number) : runs.number);
  give_or_nothing(e, 2, is_set(e, "return_counts"), runs.counts);
}

}  // namespace

void register_unique(Registry& registry) {
  registry.handler("aten::_unique", unique, {"operator"});
  registry.handler("aten::_unique2", unique, {"operator"});
  registry.handler("aten::unique_dim", unique_dim, {"operator"});
  registry.handler("aten::unique_consecutive", unique_consecutive);
  registry.handler("aten::unique_dim_consecutive", unique_consecutive);
}

}  // namespace compatcheck::handlers

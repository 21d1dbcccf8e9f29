// Counts, quantiles and covariances.
#include <algorithm>
#include <cmath>
#include <limits>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/order.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// ---- Medians: of two in the middle the lower one; NaN if there is one, at the first of it

struct Chosen {
  Value value, index;
};

// Returns the element of every row at a place that may differ from row to row: [..., 1, ...] along `axis`.
Chosen at_place(Emission& e, const Ordered& all, const Value& place, std::int64_t axis) {
  const auto take = [&](const Value& from) { return e.node("GatherElements", {from, place}, {{"axis", axis}}); };
  return {take(all.values), take(all.indices)};
}

Value count_along(Emission& e, const Value& condition, std::int64_t axis) {
  return reduce(e, "ReduceSum", e.cast(condition, DType::i64), {axis}, true);
}

Chosen median_of(Emission& e, const Value& x, const Shape& dims, std::int64_t axis, bool passing_nan) {
  const Value size = e.build.gather(e.node("Shape", {x}), e.integers({axis}), 0);
  const auto known = dims[static_cast<std::size_t>(axis)].number();
  const Value all = known ? e.integers({*known}) : size;
  if (!is_floating(x)) {
    const Value middle =
        known ? e.integers({(*known + 1) / 2}) : e.node("Div", {e.node("Add", {size, e.integers({1})}), e.integers({2})});
    Ordered lower = first_in_order(e, x, dims, axis, middle, SortOrder::upwards);
    if (dims.size() == 1 && may_be_empty(dims, {0})) {  // without elements the result is the processor's cast of NaN
      const bool wide = x.dtype == DType::i64 || x.dtype == DType::i32;
      const std::int64_t least =
          x.dtype == DType::i64 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int32_t>::min();
      lower.values = e.build.concat({e.build.reshape(e.scalar(x.dtype, wide ? least : 0), {1}), lower.values}, 0);
      lower.indices = e.build.concat({e.integers({0}), lower.indices}, 0);
    }
    return {part(e, lower.values, axis, -1, to_end), part(e, lower.indices, axis, -1, to_end)};
  }
  Ordered sorted = first_in_order(e, x, dims, axis, all, SortOrder::upwards);
  if (dims.size() == 1 && may_be_empty(dims, {0})) {  // without elements the result is NaN
    sorted.values = e.build.concat({sorted.values, e.build.reshape(e.scalar(x.dtype, std::nan("")), {1})}, 0);
    sorted.indices = e.build.concat({sorted.indices, e.integers({0})}, 0);
  }
  const Value numbers = count_along(e, e.node("Not", {is_nan(e, x)}), axis), one = e.scalar(DType::i64, 1),
              two = e.scalar(DType::i64, 2);
  const Value middle = e.node("Div", {e.node("Sub", {numbers, one}), two});  // rounds to 0: NaN alone has place 0
  if (passing_nan) return at_place(e, sorted, middle, axis);
  const Value has_nan = e.node("Less", {numbers, all});
  return at_place(e, sorted, where(e, has_nan, numbers, middle), axis);
}

template <bool passing_nan>
void median(Emission& e) {
  const std::int64_t rank = e.rank("self");
  Value x = e.tensor("self");
  const bool along = e.given("dim");
  if (rank == 0) {
    e.give(0, x);
    if (along) e.give(1, e.scalar(DType::i64, 0));
    return;
  }
  if (!along) {
    const Value flat = e.build.reshape(x, {-1});
    Dim count = 1;
    for (const Dim& dim : e.shape("self")) count = count * dim;
    if (count.number() == 0) throw Refusal{"the median of no elements has no ONNX form", "keep empty tensors out of the model"};
    return e.give(e.build.squeeze(median_of(e, flat, {count}, 0, passing_nan).value, {0}));
  }
  const std::int64_t axis = e.axis("dim");
  const Chosen found = median_of(e, x, e.shape("self"), axis, passing_nan);
  const auto kept = [&](const Value& value) { return e.boolean("keepdim") ? value : e.build.squeeze(value, {axis}); };
  if (e.output_used(0)) e.give(0, kept(found.value));
  if (e.output_used(1)) e.give(1, kept(found.index));
}

// ---- Modes: of the most frequent elements the least, and where it is last

void mode(Emission& e) {
  const DType dtype = e.dtype("self");
  if (e.rank("self") == 0) {
    e.give(0, e.tensor("self"));
    return e.give(1, e.scalar(DType::i64, 0));
  }
  const bool narrow = !ir::is_floating(dtype) && ir::element_bytes(dtype) < 4;
  const Value x = e.tensor("self", narrow ? DType::i32 : dtype);
  const std::int64_t axis = e.axis("dim");
  const Value size = e.size_of("self", axis);
  const auto along = [&](const char* op, const Value& value) { return reduce(e, op, value, {axis}, true); };
  const Value same = equal(e, e.build.unsqueeze(x, {axis}), e.build.unsqueeze(x, {axis + 1}));
  const Value counts = reduce(e, "ReduceSum", e.cast(same, DType::f32), {axis + 1}, false);
  const Value frequent = logical_not(e, less(e, counts, along("ReduceMax", counts)));
  const double most = ir::is_floating(dtype) ? std::numeric_limits<double>::infinity() : 0;
  const Value beyond = ir::is_floating(dtype)  ? e.scalar(x.dtype, most)
                       : x.dtype == DType::i64 ? e.scalar(x.dtype, std::numeric_limits<std::int64_t>::max())
                                               : e.scalar(x.dtype, std::int64_t{std::numeric_limits<std::int32_t>::max()});
  const Value found = along("ReduceMin", where(e, frequent, x, beyond));
  Ints shape(static_cast<std::size_t>(e.rank("self")), 1);
  shape[static_cast<std::size_t>(axis)] = -1;
  const Value places = e.cast(e.build.reshape(places_of(e, size), shape), DType::f32);
  const Value place = along("ReduceMax", where(e, equal(e, x, found), places, e.scalar(DType::f32, -1)));
  const auto kept = [&](const Value& value) { return e.boolean("keepdim") ? value : e.build.squeeze(value, {axis}); };
  e.give(0, kept(found));
  if (e.output_used(1)) e.give(1, kept(e.cast(place, DType::i64)));
}

// ---- Quantiles: places in the sorted dimension, between two elements by `interpolation`

// Part of the way from low to high, as torch.lerp rounds it: from the nearer end.
Value between(Emission& e, const Value& low, const Value& high, const Value& weight) {
  const Value distance = e.node("Sub", {high, low}), rest = e.node("Sub", {e.scalar(weight.dtype, 1), weight});
  const Value from_low = e.node("Add", {low, e.node("Mul", {weight, distance})});
  const Value from_high = e.node("Sub", {high, e.node("Mul", {distance, rest})});
  return where(e, e.node("Less", {weight, e.scalar(weight.dtype, 0.5)}), from_low, from_high);
}

Value place_by(Emission& e, const Value& place, const std::string& interpolation) {
  if (interpolation == "lower") return e.node("Floor", {place});
  if (interpolation == "higher") return e.node("Ceil", {place});
  if (interpolation == "nearest") return e.node("Round", {place});
  return place;
}

// [..., sizes of q] → q first, as PyTorch has it; `axis` kept as 1 or not.
template <bool passing_nan>
void quantile(Emission& e) {
  const std::int64_t rank = e.rank("self");
  Value x = e.tensor("self");
  Shape dims = e.shape("self");
  const bool along = e.given("dim"), keep = e.boolean("keepdim");
  std::int64_t axis = along ? e.axis("dim") : 0;
  if (!along || rank == 0) {
    Dim count = 1;
    for (const Dim& dim : dims) count = count * dim;
    x = e.build.reshape(x, {-1}), dims = {count}, axis = 0;
  }
  // The dimension goes last.
  Ints order = all_axes(static_cast<std::int64_t>(dims.size()));
  const std::int64_t last = order.back();
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  x = e.build.transpose(x, order);
  std::swap(dims[static_cast<std::size_t>(axis)], dims.back());
  const Value size =
      dims.back().number() ? e.integers({*dims.back().number()}) : e.build.gather(e.node("Shape", {x}), e.integers({last}), 0);
  const Ordered sorted = first_in_order(e, x, dims, last, size, SortOrder::upwards);

  const DType dtype = x.dtype;
  const bool many = !e.call.fact("q").number() && e.rank("q") == 1;
  const Value q = many ? e.tensor("q", dtype) : e.build.reshape(e.tensor("q", dtype), {1});
  const Value nan = is_nan(e, x);
  const Value numbers =
      passing_nan ? reduce(e, "ReduceSum", e.cast(e.node("Not", {nan}), dtype), {last}, true) : e.cast(size, dtype);
  const std::string interpolation = e.string("interpolation");
  const Value highest = e.node("Sub", {numbers, e.scalar(dtype, 1)});
  Value place = place_by(e, e.node("Mul", {q, highest}), interpolation);
  if (passing_nan) place = e.node("Max", {place, e.scalar(dtype, 0)});
  const Value below = e.node("Floor", {place}), above = e.node("Ceil", {place});
  const auto take = [&](const Value& places) {
    const Value at = e.cast(places, DType::i64);
    return passing_nan ? e.node("GatherElements", {sorted.values, at}, {{"axis", last}})
                       : e.build.gather(sorted.values, at, last);
  };
  const Value low = take(below);
  Value made = low;
  if (interpolation == "linear") made = between(e, low, take(above), e.node("Sub", {place, below}));
  if (interpolation == "midpoint") made = between(e, low, take(above), e.scalar(dtype, 0.5));
  if (!passing_nan) {
    const Value any = e.cast(reduce(e, "ReduceMax", e.cast(nan, DType::i32), {last}, true), DType::boolean);
    made = where(e, any, e.scalar(dtype, std::nan("")), made);
  }
  // [sizes with `axis` last as q] → [q, sizes with `axis` back as 1, or gone]
  const auto depth = static_cast<std::int64_t>(dims.size());
  made = e.build.unsqueeze(made, {depth});  // [..., q, 1]
  Ints to{depth - 1};                       // q to the front, 1 to where the dimension was
  for (std::int64_t i = 0; i < depth; ++i) to.push_back(i == axis ? depth : i == depth - 1 ? axis : i);
  made = e.build.transpose(made, to);
  if (along && rank > 0) {
    if (!keep) made = e.build.squeeze(made, {axis + 1});
  } else {
    made = keep ? e.build.unsqueeze(e.build.squeeze(made, {1}),
                                    [&] {
                                      Ints axes = all_axes(rank + 1);
                                      axes.erase(axes.begin());
                                      return axes;
                                    }())
                : e.build.squeeze(made, {1});
  }
  e.give(many ? made : e.build.squeeze(made, {0}));
}

// ---- Counts by value

void bincount(Emission& e) {
  const Value x = e.tensor("self", DType::i64);
  const Value least = e.node("Sub", {e.int_vector("minlength"), e.integers({1})});
  const auto count = [&](const Value& all) {
    return e.node("Add", {e.node("ReduceMax", {all}, {{"axes", Ints{0}}, {"keepdims", 1}}), e.integers({1})});
  };
  // OneHot requires a class, and without elements there is none.
  const bool empty = may_be_empty(e.shape("self"), {0});
  const Value depth = count(e.build.concat(empty ? Values{x, least, e.integers({0})} : Values{x, least}, 0));
  const auto give = [&](const Value& counts) {
    e.give(empty ? e.node("Slice", {counts},
                          {{"starts", Ints{0}}, {"ends", count(e.build.concat({x, least}, 0))}, {"axes", Ints{0}}})
                 : counts);
  };
  const DType dtype = e.output_dtype();
  const DType counted = dtype == DType::f64 ? DType::f32 : dtype;
  const Value rows = e.node("OneHot", {x, depth, e.build.constant(onnx::make_tensor(counted, {2}, Ints{0, 1}))});
  if (!e.given("weights")) return give(reduce(e, "ReduceSum", rows, {0}, false));
  const Value weights = e.build.unsqueeze(e.tensor("weights", dtype), {1});
  const Value none = e.scalar(dtype, 0);
  give(reduce(e, "ReduceSum", where(e, e.cast(rows, DType::boolean), weights, none), {0}, false));
}

// ---- Covariances of rows

// Returns the covariance of [variables, observations].
Value covariance(Emission& e) {
  const DType dtype = e.output_dtype();
  Value x = e.tensor("self", dtype);
  const std::int64_t rank = e.rank("self");
  if (rank < 2) x = e.build.reshape(x, {1, -1});
  const Value count = element_count(e, "self", rank == 0 ? Ints{} : Ints{rank - 1}, dtype);
  const double correction = e.call.has("correction") ? static_cast<double>(e.integer("correction")) : 1;
  Value weights, total = count, norm;
  for (const char* name : {"fweights", "aweights"})
    if (e.call.has(name) && e.given(name))
      weights = weights ? e.node("Mul", {weights, e.tensor(name, dtype)}) : e.tensor(name, dtype);
  const auto sum = [&](const Value& value, std::int64_t axis, bool keep) { return reduce(e, "ReduceSum", value, {axis}, keep); };
  Value middle;
  if (weights) {
    weights = e.build.reshape(weights, {-1});
    total = sum(weights, 0, false);
    middle = e.node("Div", {sum(e.node("Mul", {x, weights}), 1, true), total});
    Value subtracted = e.scalar(dtype, correction);
    if (e.given("aweights") && correction != 0)
      subtracted = e.node(
          "Mul",
          {e.node("Div", {sum(e.node("Mul", {weights, e.build.reshape(e.tensor("aweights", dtype), {-1})}), 0, false), total}),
           subtracted});
    norm = e.node("Sub", {total, subtracted});
  } else {
    middle = e.node("Div", {sum(x, 1, true), count});
    norm = e.node("Sub", {count, e.scalar(dtype, correction)});
  }
  const auto* known = weights ? nullptr : e.constant_of(count);
  if (const auto counts = known ? onnx::as_floats(*known) : std::nullopt)
    norm = e.scalar(dtype, std::max(counts->front() - correction, 0.0));
  else
    norm = e.at_least(8) ? e.node("Max", {norm, e.scalar(dtype, 0)}) : e.node("Relu", {norm});
  const Value off = e.node("Sub", {x, middle});
  const Value product = e.node("MatMul", {off, e.build.transpose(weights ? e.node("Mul", {off, weights}) : off, {1, 0})});
  return e.node("Div", {product, norm});
}

void cov(Emission& e) {
  const Value made = covariance(e);
  e.give(e.output_rank() == 0 ? e.build.reshape(made, {}) : made);  // a scalar for one variable
}

void corrcoef(Emission& e) {
  const Value product = covariance(e);
  if (e.output_rank() == 0) {
    const Value one = e.build.reshape(product, {});
    return e.give(e.node("Div", {one, one}));
  }
  const std::int64_t size = e.known_size("self", 0);
  Ints diagonal;
  for (std::int64_t i = 0; i < size; ++i) diagonal.push_back(i * (size + 1));
  const Value deviation = e.node("Sqrt", {e.build.gather(e.build.reshape(product, {-1}), e.integers(diagonal), 0)});
  const Value made = e.node("Div", {e.node("Div", {product, e.build.unsqueeze(deviation, {1})}), deviation});
  if (!e.at_least(8)) return e.give(e.node("Clip", {made}, {{"min", -1.0}, {"max", 1.0}}));
  e.give(e.node("Max", {e.node("Min", {made, e.scalar(made.dtype, 1)}), e.scalar(made.dtype, -1)}));
}

}  // namespace

void register_statistics(Registry& registry) {
  registry.handler("aten::median", median<false>);
  registry.handler("aten::nanmedian", median<true>);
  registry.handler("aten::quantile", quantile<false>);
  registry.handler("aten::nanquantile", quantile<true>);
  registry.handler("aten::bincount", bincount);
  registry.handler("aten::mode", mode);
  registry.handler("aten::cov", cov);
  registry.handler("aten::corrcoef", corrcoef);
}

}  // namespace compatcheck::handlers

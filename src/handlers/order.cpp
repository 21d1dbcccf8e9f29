#include "handlers/order.h"

#include <numeric>

#include "handlers/compute.h"

namespace compatcheck::handlers {

Ordered first_of_numbers(Emission& e, const Value& value, std::int64_t axis, const Value& k, SortOrder direction) {
  Arguments attributes{{"k", k}, {"axis", axis}};
  if (e.at_least(11) || direction == SortOrder::downwards) {
    attributes.push_back({"largest", direction == SortOrder::downwards});
    const auto made = e.nodes("TopK", {value}, 2, attributes);
    return {made[0], made[1]};
  }
  const auto made = e.nodes("TopK", {e.node("Neg", {value})}, 2, attributes);
  return {e.node("Neg", {made[0]}), made[1]};
}

namespace {

constexpr double beyond_narrow = 1e300;  // for f64: greater than any f32, less than infinity

// Before Where: out of both laid side by side. The number of elements must be known.
Value pick(Emission& e, const Value& condition, double yes, const Value& no, const Shape& dims) {
  if (e.at_least(9)) return where(e, condition, e.scalar(no.dtype, yes), no);
  std::int64_t count = 1;
  for (const Dim& dim : dims) {
    if (!dim.is_number())
      throw Refusal{"sorting NaN to its place needs Where, which came with opset 9",
                    "use opset 9, or numbers as sizes, such as --input x=f32:1,3,224,224"};
    count *= *dim.number();
  }
  Ints places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  const Value all = e.build.concat(
      {e.build.reshape(no, {-1}), e.build.constant(onnx::make_tensor(no.dtype, {1}, std::vector<double>{yes}))}, 0);
  const Value selected = e.cast(e.build.reshape(condition, {-1}), DType::i64);
  const Value place = e.integers(places);
  const Value from = e.node("Add", {place, e.node("Mul", {selected, e.node("Sub", {e.scalar(DType::i64, count), place})})});
  Ints sizes;
  for (const Dim& dim : dims) sizes.push_back(*dim.number());
  return e.build.reshape(e.build.gather(all, from, 0), sizes);
}

// f32 and narrower in f64, which has room for NaN above infinity.
Ordered with_room(Emission& e, const Value& value, const Shape& dims, std::int64_t axis, const Value& k, SortOrder direction) {
  const Value wide = e.cast(value, DType::f64), bound = e.scalar(DType::f64, beyond_narrow);
  const Value bounded =
      e.at_least(8) ? e.node("Min", {wide, bound}) : pick(e, e.node("Greater", {wide, bound}), beyond_narrow, wide, dims);
  const Ordered found = first_of_numbers(e, pick(e, is_nan(e, value), infinity, bounded, dims), axis, k, direction);
  if (e.at_least(11)) return {e.node("GatherElements", {value, found.indices}, {{"axis", axis}}), found.indices};
  const Value back = e.cast(found.values, value.dtype);
  if (e.at_least(9))
    return {where(e, e.node("Greater", {found.values, e.scalar(DType::f64, beyond_narrow)}), e.scalar(value.dtype, std::nan("")),
                  back),
            found.indices};
  Shape sizes = dims;
  if (const auto known = e.build.ints_of(k)) sizes[static_cast<std::size_t>(axis)] = known->front();
  return {pick(e, e.node("Greater", {found.values, e.scalar(DType::f64, beyond_narrow)}), std::nan(""), back, sizes),
          found.indices};
}

// f64 in two steps: by value, then numbers before NaN; the second keeps the order of the first.
Ordered in_two_steps(Emission& e, const Value& value, std::int64_t axis, const Value& k, SortOrder direction) {
  if (!e.at_least(11))
    throw Refusal{"sorting f64 with NaN needs GatherElements, which came with opset 11", "use opset 11, or f32"};
  const auto at = [&](const Value& data, const Value& places) {
    return e.node("GatherElements", {data, places}, {{"axis", axis}});
  };
  const Value nan = is_nan(e, value);
  const Value all = e.build.gather(e.node("Shape", {value}), e.integers({axis}), 0);
  const Ordered by_value = first_of_numbers(e, where(e, nan, e.scalar(value.dtype, infinity), value), axis, all, direction);
  const Ordered by_kind = first_of_numbers(e, at(e.cast(nan, DType::i32), by_value.indices), axis, k, direction);
  const Value places = at(by_value.indices, by_kind.indices);
  return {at(value, places), places};
}

// TopK takes floats alone before opset 11.
Ordered of_integers(Emission& e, const Value& value, std::int64_t axis, const Value& k, SortOrder direction) {
  if (e.at_least(11))
    return first_of_numbers(e, value.dtype == DType::boolean ? e.cast(value, DType::u8) : value, axis, k, direction);
  if (value.dtype == DType::i64 || value.dtype == DType::u64)
    throw Refusal{"TopK supports only floating values before opset 11", "use opset 11, or i32"};
  return first_of_numbers(e, e.cast(value, ir::element_bytes(value.dtype) < 4 ? DType::f32 : DType::f64), axis, k, direction);
}

}  // namespace

Ordered first_in_order(Emission& e, const Value& value, const Shape& dims, std::int64_t axis, const Value& k,
                       SortOrder direction) {
  if (const auto count = e.build.ints_of(k); count && count->front() == 0 && !e.at_least(10)) {  // TopK-1 takes no k of 0
    const bool had_none = dims.at(static_cast<std::size_t>(axis)).number() == 0;
    const Value none = had_none ? value : e.build.slice(value, {0}, {0}, {axis});
    return {none, e.cast(none, DType::i64)};
  }
  if (!is_floating(value)) {
    Ordered found = of_integers(e, value, axis, k, direction);
    found.values = e.cast(found.values, value.dtype);
    return found;
  }
  return value.dtype == DType::f64 ? in_two_steps(e, value, axis, k, direction) : with_room(e, value, dims, axis, k, direction);
}

}  // namespace compatcheck::handlers

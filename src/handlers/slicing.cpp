// Parts of a tensor by position, and parts replaced.
#include <algorithm>

#include "handlers/families.h"
#include "handlers/padding.h"
#include "handlers/scatter.h"
#include "handlers/sizes.h"
#include "handlers/view_strided.h"

namespace compatcheck::handlers {
namespace {

// A bound of a Python slice: the same numbers mean the same to ONNX.
Value bound(Emission& e, std::string_view argument, std::int64_t if_none) {
  return e.given(argument) ? int_value(e, argument) : e.integers({if_none});
}

std::int64_t known_bound(Emission& e, std::string_view argument) {
  if (const auto known = e.call.integer(argument)) return *known;
  throw Refusal{"Slice takes its bounds as constants before opset 10", "use opset 10"};
}

// Every step-th position of the slice, where Slice has no steps.
Ints positions(Emission& e, std::int64_t axis, std::int64_t step) {
  if (step < 1) throw Refusal{"step must be at least 1, but is " + std::to_string(step)};
  const std::int64_t size = e.known_size("self", axis);
  const auto place = [&](std::string_view argument, std::int64_t if_none) {
    const std::int64_t at = e.given(argument) ? known_bound(e, argument) : if_none;
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  Ints made;
  for (std::int64_t at = place("start", 0), end = place("end", size); at < end; at += std::min(step, size)) made.push_back(at);
  return made;
}

void slice(Emission& e) {
  const std::int64_t axis = e.axis("dim");
  const Value self = e.tensor("self");
  if (e.variant("gathered")) return e.give(e.build.gather(self, e.integers(positions(e, axis, e.integer("step"))), axis));
  const auto start = e.given("start") ? e.call.integer("start") : 0, end = e.given("end") ? e.call.integer("end") : to_end;
  if (start == 0 && end == to_end && e.call.integer("step") == 1) return e.give(self);
  e.give(sliced(e, self, axis, bound(e, "start", 0), bound(e, "end", to_end), int_value(e, "step")));
}

// ---- One position

// The dimension goes. Below opset 11 a position counted from the end of a size that isn't known is cut out by Slice.
Value selected(Emission& e, const Value& value, std::int64_t axis) {
  const auto index = e.call.integer("index");
  const auto size = e.size("self", axis);
  if (!index)
    return e.build.gather(value, wrapped_if_needed(e, int_scalar(e, "index"), e.build.squeeze(e.size_of("self", axis), {0})),
                          axis);
  if (*index >= 0 || e.at_least(11)) return e.build.gather(value, e.build.integer(*index), axis);
  if (size) return e.build.gather(value, e.build.integer(*index + *size), axis);
  return e.build.squeeze(e.build.slice(value, {*index}, {*index == -1 ? to_end : *index + 1}, {axis}), {axis});
}

void select(Emission& e) { e.give(selected(e, e.tensor("self"), e.axis("dim"))); }

// ---- A number of positions

// A start below 0 counts from the end, and so does its end: 0 would be the beginning.
void narrow(Emission& e) {
  const std::int64_t axis = e.axis("dim");
  const Value self = e.tensor("self"), length = int_value(e, "length");
  const auto start = e.call.dim("start");
  if (start && start->is_number()) {
    std::int64_t first = *start->number();
    if (const auto size = e.size("self", axis); first < 0 && size) first += *size;
    if (const auto count = e.call.integer("length")) {
      const std::int64_t end = first < 0 && first + *count == 0 ? to_end : first + *count;
      return e.give(e.build.slice(self, {first}, {end}, {axis}));
    }
    if (first >= 0) return e.give(sliced(e, self, axis, e.integers({first}), sum(e, e.integers({first}), length)));
  }
  const bool from_front = start && provably_at_least(*start, 0);
  const Value first = from_front ? int_value(e, "start") : wrapped(e, int_value(e, "start"), e.size_of("self", axis));
  e.give(sliced(e, self, axis, first, sum(e, first, length)));
}

// ---- Parts replaced: the part before, the new part, the part after

Value around(Emission& e, std::int64_t axis, const Value& part, const Value& start, const Value& end) {
  const Value self = e.tensor("self");
  Values parts;
  const auto known_start = e.build.ints_of(start), known_end = e.build.ints_of(end);
  if (!known_start || known_start->front() != 0) parts.push_back(sliced(e, self, axis, e.integers({0}), start));
  parts.push_back(e.cast(part, e.output_dtype()));
  const auto size = e.size("self", axis);
  if (!known_end || (known_end->front() != to_end && known_end->front() != size))
    parts.push_back(sliced(e, self, axis, end, e.integers({to_end})));
  return e.build.concat(parts, axis);
}

void select_scatter(Emission& e) {
  const std::int64_t axis = e.axis("dim");
  Value at = int_value(e, "index");
  if (const auto known = e.build.ints_of(at); !known || known->front() < 0) {
    const auto size = e.size("self", axis);
    if (known && size)
      at = e.integers({known->front() + *size});
    else if (!known)
      at = wrapped(e, at, e.size_of("self", axis));
  }
  const auto known = e.build.ints_of(at);
  const Value after = known && known->front() == -1 ? e.integers({to_end}) : sum(e, at, e.integers({1}));
  e.give(around(e, axis, e.build.unsqueeze(e.tensor("src"), {axis}), at, after));
}

// Slice has no steps before opset 10: there all must be known.
Value rows_of_steps(Emission& e, std::int64_t axis) {
  if (!e.at_least(10)) {
    if (!e.size("self", axis))
      throw Refusal{"Slice has no step before opset 10", "use opset 10, or numbers as sizes, such as --input x=f32:1,3,224,224"};
    return e.integers(positions(e, axis, e.integer("step")));
  }
  const Value counted = places_of(e, e.size_of("self", axis));
  return sliced(e, counted, 0, bound(e, "start", 0), bound(e, "end", to_end), int_value(e, "step"));
}

// Before ScatterND each element is written by the position of its row.
void scatter_rows(Emission& e, std::int64_t axis) {
  const Value rows = rows_of_steps(e, axis);
  if (const auto at = e.build.ints_of(rows); at && at->empty()) return e.give(e.tensor("self"));
  const std::int64_t rank = e.rank("self");
  Ints others;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != axis) others.push_back(i);
  Writing w{.data = e.tensor("self"),
            .index = e.build.unsqueeze(rows, others),
            .source = e.tensor("src", e.dtype("self")),
            .axis = axis,
            .shape = e.shape("self"),
            .index_shape = Shape(static_cast<std::size_t>(rank), Dim(1))};
  w.index_shape[static_cast<std::size_t>(axis)] = e.shape("src")[static_cast<std::size_t>(axis)];
  w.index = stretched_index(e, w, e.shape("src"));
  w.index_shape = e.shape("src");
  e.give(written(e, w, Reduction::none));
}

// Every step-th row: written by position.
void scatter_steps(Emission& e, std::int64_t axis) {
  if (!e.at_least(11)) return scatter_rows(e, axis);
  const Value rows = rows_of_steps(e, axis);
  const Ints order = to_front(e.rank("self"), {axis});
  const Value written = e.node("ScatterND", {e.build.transpose(e.tensor("self"), order), e.build.unsqueeze(rows, {1}),
                                             e.build.transpose(e.cast(e.tensor("src"), e.dtype("self")), order)});
  e.give(e.build.transpose(written, inverse(order)));
}

// Bounds on either side of the tensor mean its ends; an end before the start, its start.
void slice_scatter(Emission& e) {
  const std::int64_t axis = e.axis("dim");
  if (e.variant("scattered")) return scatter_steps(e, axis);
  Value start = bound(e, "start", 0), end = bound(e, "end", to_end);
  const auto first = e.build.ints_of(start), last = e.build.ints_of(end);
  if (first && last && e.size("self", axis)) {
    const std::int64_t size = *e.size("self", axis);
    const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
    start = e.integers({place(first->front())});
    end = e.integers({std::max(place(first->front()), place(last->front()))});
  } else if (first && last && (first->front() < 0) == (last->front() < 0)) {
    end = e.integers({std::max(first->front(), last->front())});
  } else if (!(first && first->front() == 0) && !(last && last->front() == to_end)) {
    // Which of the bounds is smaller depends on the size: the part begins after the kept part before it.
    const Value before = sliced(e, e.tensor("self"), axis, e.integers({0}), start);
    start = size_at(e, before, axis);
    end = sum(e, start, size_at(e, e.tensor("src"), axis));
  }
  e.give(around(e, axis, e.tensor("src"), start, end));
}

// ---- At positions in the flattened tensor

// `positions`: an i64 vector, of `count` elements.
void give_at(Emission& e, const Value& positions, const Dim& count, std::string_view source) {
  const Value self = e.build.reshape(e.tensor("self"), {-1}), updates = e.build.reshape(e.tensor(source, self.dtype), {-1});
  const Writing w{.data = self,
                  .index = positions,
                  .source = updates,
                  .axis = 0,
                  .shape = {symbolic::product(e.shape("self"))},
                  .index_shape = {count}};
  const Shape& shape = e.shape("self");
  e.give(reshape_to(e, written(e, w, Reduction::none), nullptr, &shape, [&] { return e.shape_of("self"); }));
}

void give_at(Emission& e, const Ints& positions, std::string_view source) {
  if (positions.empty()) return e.give(e.tensor("self"));
  give_at(e, e.integers(positions), static_cast<std::int64_t>(positions.size()), source);
}

// For unknown sizes: each row (each column if it is below the main diagonal) is filled with its element of the diagonal,
// and a mask selects the position.
void scatter_by_mask(Emission& e, std::int64_t a, std::int64_t b, std::int64_t offset) {
  const std::int64_t rank = e.rank("self");
  Ints order;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != a && i != b) order.push_back(i);
  order.insert(order.end(), {a, b});
  const Value self = e.build.transpose(e.tensor("self"), order), source = e.tensor("src", self.dtype);
  const Value rows = places_of(e, size_at(e, self, rank - 2)), columns = places_of(e, size_at(e, self, rank - 1));
  const Value mask =
      e.node("Equal", {difference(e, e.build.unsqueeze(columns, {0}), e.build.unsqueeze(rows, {1})), e.integers({offset})});
  // The zero after the diagonal's end is read, too, but the mask selects none of it.
  const Value& along = offset >= 0 ? rows : columns;
  const Value length = size_at(e, source, rank - 2);
  const Value index = e.node("Where", {e.node("Less", {along, length}), along, length});
  Ints none(static_cast<std::size_t>(rank) - 1, 0), after = none;
  after.back() = 1;
  const Value ended = padded(e, source, known_shape(e, "src"), none, after, e.scalar(self.dtype, 0));
  const Value spread = e.build.unsqueeze(e.build.gather(ended, index, rank - 2), {offset >= 0 ? rank - 1 : rank - 2});
  e.give(e.build.transpose(e.node("Where", {mask, spread, self}), inverse(order)));
}

void diagonal_scatter(Emission& e) {
  if (!numbers_of(e.shape("self"))) return scatter_by_mask(e, e.axis("dim1"), e.axis("dim2"), e.integer("offset"));
  const std::int64_t rank = e.rank("self"), a = e.axis("dim1"), b = e.axis("dim2"), offset = e.integer("offset");
  Ints sizes(static_cast<std::size_t>(rank)), strides = sizes;
  std::int64_t stride = 1;
  for (std::int64_t i = rank; i-- > 0;) {
    sizes[static_cast<std::size_t>(i)] = e.known_size("self", i);
    strides[static_cast<std::size_t>(i)] = stride;
    stride *= sizes[static_cast<std::size_t>(i)];
  }
  const auto at = [](const Ints& ints, std::int64_t i) { return ints[static_cast<std::size_t>(i)]; };
  Ints kept, kept_strides;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != a && i != b) kept.push_back(at(sizes, i)), kept_strides.push_back(at(strides, i));
  const std::int64_t length =
      offset >= 0 ? std::min(at(sizes, a), at(sizes, b) - offset) : std::min(at(sizes, a) + offset, at(sizes, b));
  kept.push_back(std::max<std::int64_t>(0, length));
  kept_strides.push_back(at(strides, a) + at(strides, b));
  give_at(e, strided_positions(kept, kept_strides, offset >= 0 ? offset * at(strides, b) : -offset * at(strides, a)), "src");
}

void as_strided_scatter(Emission& e) {
  const symbolic::Layout self = layout_of_self(e);
  if (!self.in_order || !self.offset.number())
    throw Refusal{"strides count elements in memory, and the tensor doesn't lie there in order", "call .contiguous() before it"};
  const std::int64_t first = *self.offset.number();
  const auto window = known_window(e, self);
  if (!window) return give_at(e, e.build.reshape(window_at_run_time(e, self, first), {-1}), Dim::unknown(), "src");
  const Ints positions = strided_positions(window->sizes, window->strides, window->offset - first);
  const auto count = symbolic::product(e.shape("self")).number();
  if (std::ranges::any_of(positions, [&](std::int64_t at) { return at < 0 || (count && at >= *count); }))
    throw Refusal{"what is written lies beyond the tensor's own elements"};
  give_at(e, positions, "src");
}

}  // namespace

void register_slicing(Registry& registry) {
  registry.handler("aten::slice", slice, {"gathered"});
  registry.handler("aten::select", select);
  registry.handler("aten::narrow", narrow);
  registry.handler("aten::select_scatter", select_scatter);
  registry.handler("aten::slice_scatter", slice_scatter, {"scattered"});
  registry.handler("aten::diagonal_scatter", diagonal_scatter);
  registry.handler("aten::as_strided_scatter", as_strided_scatter);
}

}  // namespace compatcheck::handlers

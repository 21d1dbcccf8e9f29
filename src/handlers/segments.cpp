#include "handlers/segments.h"

#include "handlers/compute.h"

namespace compatcheck::handlers {
namespace {

std::int64_t segment_rank(const Segments& segments) { return static_cast<std::int64_t>(segments.shape.size()); }

// Whether values, not sizes, decide how many segments there are.
bool is_counted(Emission& e, const Segments& segments) { return segments.size.is_unknown() && !e.build.ints_of(segments.count); }

Value joined_sizes(Emission& e, const Segments& segments) {
  Values parts;
  for (std::int64_t i = 0; i < segment_rank(segments); ++i) {
    const auto known = segments.shape[static_cast<std::size_t>(i)].number();
    parts.push_back(i == segments.axis ? segments.count : known ? e.integers({*known}) : size_at(e, segments.source, i));
  }
  return joined(e, parts);
}

// Sizes of the result: those of the source, and the number of segments.
Value reduced_sizes(Emission& e, const Segments& segments) {
  if (is_counted(e, segments)) return joined_sizes(e, segments);
  const auto marked = e.build.plumbing();
  return joined_sizes(e, segments);
}

Value reduced_over(Emission& e, const Segments& segments, const Value& start, Reduction reduction) {
  Writing w{.data = start,
            .index = segments.index,
            .source = segments.source,
            .axis = segments.axis,
            .shape = segments.shape,
            .index_shape = segments.index_shape,
            .fills = true,
            .no_nan = true,
            .counted = is_counted(e, segments)};
  w.shape[static_cast<std::size_t>(segments.axis)] = segments.size;
  if (!compares(e, reduction)) w.index = stretched_index(e, w, segments.shape), w.index_shape = segments.shape;
  return written(e, w, reduction);
}

bool may_have_no_elements(const Shape& shape) {
  return std::ranges::any_of(shape, [](const Dim& size) { return may_be_zero(size); });
}

}  // namespace

Value segment_sums(Emission& e, const Segments& segments) {
  return reduced_over(e, segments, filled(e, reduced_sizes(e, segments), segments.source.dtype, 0), Reduction::sum);
}

Value segment_products(Emission& e, const Segments& segments) {
  const DType dtype = segments.source.dtype;
  Value start = filled(e, reduced_sizes(e, segments), dtype, 1);
  if (may_have_no_elements(segments.shape)) {
    const Value count = e.build.reshape(e.node("Size", {segments.source}), {});
    start = multiply(e, start, e.cast(minimum(e, count, e.scalar(DType::i64, 1)), dtype));
  }
  return reduced_over(e, segments, start, Reduction::product);
}

Value segment_counts(Emission& e, const Segments& segments) {
  Segments ones = segments;
  ones.shape = segments.index_shape;
  ones.source = filled_like(e, segments.index, segments.source.dtype, 1);
  return maximum(e, segment_sums(e, ones), e.scalar(segments.source.dtype, 1));
}

SegmentExtremes segment_extremes(Emission& e, const Segments& segments, Reduction reduction, bool with_places) {
  const DType dtype = segments.source.dtype;
  const bool floats = ir::is_floating(dtype), greatest = reduction == Reduction::greatest;
  SegmentExtremes made;
  made.bound = floats ? e.scalar(dtype, greatest ? -largest(dtype) : largest(dtype)) : neutral(e, dtype, reduction);
  const Value sizes = reduced_sizes(e, segments);
  Segments numbers = segments;
  if (floats) numbers.source = where(e, is_nan(e, segments.source), made.bound, segments.source);
  const auto stretched = [&](const Value& number) { return filled(e, sizes, e.build.reshape(number, {1})); };
  made.values = reduced_over(e, numbers, stretched(made.bound), reduction);
  if (!with_places) return made;

  const Writing w{.data = made.values,
                  .index = segments.index,
                  .source = segments.source,
                  .axis = segments.axis,
                  .shape = segments.shape,
                  .index_shape = segments.index_shape};
  const Value index = stretched_index(e, w, segments.shape);
  const Value found = e.node("GatherElements", {made.values, index}, {{"axis", segments.axis}});
  const Value is_extreme = logical_and(e, equal(e, numbers.source, found), logical_not(e, equal(e, numbers.source, made.bound)));
  const auto known = segments.shape[static_cast<std::size_t>(segments.axis)].number();
  const Value length = known ? e.integers({*known}) : size_at(e, segments.source, segments.axis);
  Segments places = segments;
  places.source = where(e, is_extreme, along(e, counting(e, length), segments.axis, segment_rank(segments)), length);
  places.index = index, places.index_shape = segments.shape;
  made.places = reduced_over(e, places, stretched(length), Reduction::least);
  return made;
}

Value along(Emission& e, const Value& vector, std::int64_t axis, std::int64_t rank) {
  Ints others;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != axis) others.push_back(i);
  return others.empty() ? vector : e.build.unsqueeze(vector, others);
}

Value pointers_up_to(Emission& e, const Value& pointers, const Value& count) {
  const Value zeros = filled(e, sum(e, count, e.integers({1})), DType::i64, 0);
  const Value marks = e.node("ScatterElements", {zeros, pointers, filled_like(e, pointers, DType::i64, 1)},
                             {{"axis", std::int64_t{0}}, {"reduction", "add"}});
  return sliced(e, e.node("CumSum", {marks, e.build.integer(0)}), 0, e.integers({0}), count);
}

Segments segments_between(Emission& e, const Value& source, const Shape& shape, std::int64_t axis, const Value& pointers,
                          const Dim& pointer_count) {
  Segments segments{.source = source,
                    .shape = shape,
                    .index = {},
                    .index_shape = Shape(shape.size(), Dim(1)),
                    .axis = axis,
                    .count = {},
                    .size = {}};
  const auto at = static_cast<std::size_t>(axis);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const Value length = shape[at].is_number() ? e.integers({*shape[at].number()}) : size_at(e, source, axis);
  segments.index = along(e, pointers_up_to(e, pointers, length), axis, rank);
  segments.index_shape[at] = shape[at];
  segments.size = pointer_count + Dim(1);
  segments.count =
      segments.size.is_number() ? e.integers({*segments.size.number()}) : sum(e, size_at(e, pointers, 0), e.integers({1}));
  return segments;
}

Value inner_segments(Emission& e, const Value& value, std::int64_t axis) { return part(e, value, axis, 1, -1); }

Value sizes_between(Emission& e, const Value& pointers, std::int64_t axis, std::int64_t rank) {
  return along(e, difference(e, part(e, pointers, 0, 1, to_end), part(e, pointers, 0, 0, -1)), axis, rank);
}

}  // namespace compatcheck::handlers

// Reductions of a tensor's elements in segments along one dimension, as graph libraries define them.
#pragma once

#include "handlers/scatter.h"

namespace compatcheck::handlers {

// Element i of `source` along `axis` belongs to group index[i].
struct Segments {
  Value source;
  Shape shape;
  Value index;        // i64, of the source's rank
  Shape index_shape;  // the source's sizes, or 1 where the index broadcasts
  std::int64_t axis = 0;
  Value count;  // how many segments there are: an i64 vector of one
  Dim size;     // the same as far as it is known
};

Value segment_sums(Emission& e, const Segments& segments);
Value segment_products(Emission& e, const Segments& segments);  // 0 where the whole source has no elements
// The number of elements of each group, at least 1, in the source's dtype; 1 along dimensions in which the index broadcasts.
Value segment_counts(Emission& e, const Segments& segments);

// Reduction::greatest or least. NaN is ignored.
struct SegmentExtremes {
  Value values;  // `bound` where nothing is beyond it
  Value bound;   // the least finite number for a maximum
  Value places;  // of the first extreme element along the axis, or the axis's size; absent unless asked for
};
SegmentExtremes segment_extremes(Emission& e, const Segments& segments, Reduction reduction, bool with_places);

// Segments that follow each other: group i has the elements from pointers[i] up to pointers[i + 1]. Before the first group and
// behind the last one stands another, of elements that are in none: inner_segments() leaves both out.
Segments segments_between(Emission& e, const Value& source, const Shape& shape, std::int64_t axis, const Value& pointers,
                          const Dim& pointer_count);
Value inner_segments(Emission& e, const Value& value, std::int64_t axis);
// For each i below `count`, how many pointers are at most i; both are i64, `count` a vector of one. From opset 16 on.
Value pointers_up_to(Emission& e, const Value& pointers, const Value& count);
// The size of each group along `axis` of a tensor of that rank.
Value sizes_between(Emission& e, const Value& pointers, std::int64_t axis, std::int64_t rank);

// A vector along `axis` of a tensor of that rank.
Value along(Emission& e, const Value& vector, std::int64_t axis, std::int64_t rank);

}  // namespace compatcheck::handlers

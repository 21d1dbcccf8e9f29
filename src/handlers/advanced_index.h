// A tensor read or written at the places that a list of index tensors names: x[i, :, mask].
#pragma once

#include "handlers/sizes.h"

namespace compatcheck::handlers {

struct IndexPlan {
  Value data{};                  // the tensor, with a dimension of size 1 for each mask without dimensions
  std::optional<Shape> shape{};  // shape of `data`; absent: unknown rank
  Ints axes{};                   // axes of `data` that the indices replace
  Values positions{};            // one for each axis: i64, not yet broadcast
  std::vector<Shape> position_shapes{};
  std::int64_t masks = 0;  // indices that are masks
  Value tuples{};          // [count, axes] where a single mask gives them all, else absent
  bool adjacent = true;

  std::int64_t rank() const { return static_cast<std::int64_t>(shape->size()); }
  Shape common() const;  // broadcast shape of all positions
  std::int64_t place() const {
    return adjacent && !axes.empty() ? axes.front() : 0;
  }  // first axis of the indices' dimensions in the result
};

// `clamp`: positions outside of the tensor mean its ends.
IndexPlan plan_indices(Emission& e, bool clamp = false);
// x[indices].
Value indexed(Emission& e, const IndexPlan& plan);
// [..., axes]: a tuple of positions for each element that is read.
Value tuples_of(Emission& e, const IndexPlan& plan);
// One position in the joined axes for each element.
Value flat_positions(Emission& e, const IndexPlan& plan);
// The joined axes in front of the others, as one.
Value flat_data(Emission& e, const IndexPlan& plan);
// `values` broadcast to what indexing gives, the indices' dimensions in front.
Value spread_values(Emission& e, const IndexPlan& plan, const Value& values, const Shape* shape);
// The sizes of what indexing gives.
Value result_sizes(Emission& e, const IndexPlan& plan, std::int64_t place);
// Moves the dimensions of `value` from the plan's order, axes first, back to self's.
Value in_place(Emission& e, const IndexPlan& plan, const Value& value);

// Places where a tensor isn't 0: [rank, count].
Value nonzero_places(Emission& e, const Value& value);

}  // namespace compatcheck::handlers

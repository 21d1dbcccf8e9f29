// Elements in order along a dimension, NaN as the greatest: TopK of ONNX leaves open where NaN goes.
#pragma once

#include <cstdint>

#include "handlers/emission.h"

namespace compatcheck::handlers {

enum class SortOrder : bool { upwards, downwards };
struct Ordered {
  Value values, indices;
};

// The first `k` (an i64 vector of one) of `value`, of at least one dimension and of `dims` sizes. Equal ones keep their order.
Ordered first_in_order(Emission& e, const Value& value, const Shape& dims, std::int64_t axis, const Value& k,
                       SortOrder direction);

// The same where NaN may go anywhere.
Ordered first_of_numbers(Emission& e, const Value& value, std::int64_t axis, const Value& k, SortOrder direction);

}  // namespace compatcheck::handlers

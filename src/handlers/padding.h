// Padding of tensors, for several handlers.
#pragma once

#include "handlers/sizes.h"

namespace compatcheck::handlers {

// `before` and `after` of each dimension get `fill`, a value of one element; negative ones are cut off. `shape` (may be null)
// serves dtypes that Pad doesn't take.
Value padded(Emission& e, const Value& value, const Shape* shape, const Ints& before, const Ints& after, const Value& fill);

}  // namespace compatcheck::handlers

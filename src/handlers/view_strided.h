// The tensor that strides count from.
#pragma once

#include "handlers/emission.h"
#include "symbolic/layout.h"

namespace compatcheck::handlers {

// In row-major order: offset + k0·stride0 + k1·stride1 + …, each k below its size.
Ints strided_positions(const Ints& sizes, const Ints& strides, std::int64_t offset);
// Returns offset + k0·stride0 + k1·stride1 + … in row-major order, each k below its size.
symbolic::Layout layout_of_self(const Emission& e);
// Where the call's strides begin, in elements from the beginning of the storage.
std::int64_t storage_offset(const Emission& e, const symbolic::Layout& self);

}  // namespace compatcheck::handlers

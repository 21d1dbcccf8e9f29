// Inputs that are rounded differently.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/constant.h"

namespace compatcheck::verification {

// The same value with the last bits of floating elements changed, of lists, tuples and dictionaries in each member: draw 0 flips
// each, later draws flip other halves of them. Zeros and what isn't finite stay. Tensors must carry their bytes. `narrow`: the
// last bits that a float of this dtype would have.
ir::Constant nudged(const ir::Constant& value, std::uint64_t draw, std::optional<ir::DType> narrow = {});

}  // namespace compatcheck::verification

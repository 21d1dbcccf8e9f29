// Inputs that are rounded differently.
#pragma once

#include <cstdint>

#include "ir/constant.h"

namespace compatcheck::verification {

// The same value with the last bits of floating elements changed, of lists, tuples and dictionaries in each member: draw 0 flips
// each, later draws flip other halves of them. Zeros and what isn't finite stay. Tensors must carry their bytes.
ir::Constant nudged(const ir::Constant& value, std::uint64_t draw);

}  // namespace compatcheck::verification

// Inputs that are rounded differently.
#pragma once

#include "ir/constant.h"

namespace compatcheck::verification {

// The same value with the last bit of every floating element flipped, of lists, tuples and dictionaries in each member. Zeros and
// what isn't finite stay. Tensors must carry their bytes.
ir::Constant nudged(const ir::Constant& value);

}  // namespace compatcheck::verification

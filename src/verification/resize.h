// Examples at other sizes than they were given with.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/constant.h"

namespace compatcheck::verification {

// The same tensor with these sizes, of the same rank: along each dimension its elements again from the first on, or fewer of
// them. It must carry its bytes; what holds no elements stays as it is.
ir::TensorView resized(const ir::TensorView& tensor, const std::vector<std::int64_t>& sizes);

}  // namespace compatcheck::verification

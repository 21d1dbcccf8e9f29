// Examples at other sizes than they were given with.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/constant.h"

namespace compatcheck::verification {

// The same tensor with these sizes, of the same rank: along each dimension its elements are repeated from the first one, or
// cut off. It must have its bytes; a tensor without elements stays unchanged.
ir::TensorView resized(const ir::TensorView& tensor, const std::vector<std::int64_t>& sizes);

}  // namespace compatcheck::verification

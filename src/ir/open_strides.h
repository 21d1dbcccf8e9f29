// Tensors of which a type doesn't say how they lie in memory.
#pragma once

#include <algorithm>

#include "ir/type.h"

namespace compatcheck::ir {

// The type has strides, and some are unknown: a state that calls set (passes/state.h). Inputs whose types have no strides are
// contiguous.
inline bool has_open_strides(const TypeRef& type) {
  if (!type || !type->tensor.strides) return false;
  return std::ranges::any_of(*type->tensor.strides, [](const auto& stride) { return !stride; });
}

}  // namespace compatcheck::ir

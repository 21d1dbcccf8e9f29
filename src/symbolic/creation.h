// New tensors: their dtype and size.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

// torch.tensor's choice for a Python number; a tensor keeps its own.
std::optional<ir::DType> natural_dtype(const Fact& fact);

template <ir::DType otherwise>
Facts made(const Call& call) {
  return {tensor_fact(dtype_or(call, otherwise), call.dims("size"))};
}
Facts made_like(const Call& call);  // like self, except for `dtype`

}  // namespace compatcheck::symbolic

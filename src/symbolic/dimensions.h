// Arguments that count a tensor's dimensions.
#pragma once

#include "symbolic/registry.h"

namespace compatcheck::symbolic {

// No for a constant dimension that is out of range for the highest rank of the call's tensors; PyTorch refuses it.
Verdict dimensions_exist(const Call& call);

}  // namespace compatcheck::symbolic

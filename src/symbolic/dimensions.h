// Arguments that count a tensor's dimensions.
#pragma once

#include "symbolic/registry.h"

namespace compatcheck::symbolic {

// PyTorch takes no dimension that the tensor hasn't.
Verdict dimensions_exist(const Call& call);

}  // namespace compatcheck::symbolic

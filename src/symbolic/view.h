// Views that other families share.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

// The last two dimensions change places.
Facts matrix_transpose(const Call& call);

}  // namespace compatcheck::symbolic

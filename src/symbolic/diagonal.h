// Diagonals as views.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

// dim1 and dim2 give way to their diagonal, at the end.
Facts diagonal(const Call& call);

}  // namespace compatcheck::symbolic

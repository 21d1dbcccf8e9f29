// The sizes of pooled dimensions.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

std::optional<Shape> pooled(const Call& call, const TensorFact& self, std::size_t dims);  // the last `dims`

}  // namespace compatcheck::symbolic

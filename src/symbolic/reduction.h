// The dimensions that reductions keep of their first tensor.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

// `dim` is an int, int[], or absent, None or empty: all.
std::optional<Shape> reduced_sizes(const Call& call);
// The sizes of self's dimensions that it reduces; nullopt while these aren't known.
std::optional<Shape> sizes_to_reduce(const Call& call);
// Without `dim` in the overload only the value.
Facts values_and_indices(const Call& call);

}  // namespace compatcheck::symbolic

// The result of joining tensors along a dimension.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

std::optional<Shape> concatenated(const std::vector<TensorFact>& tensors, std::int64_t dim);
// The members of a list argument; nullopt while their number isn't known.
std::optional<std::vector<TensorFact>> tensor_list(const Call& call, std::string_view argument);

}  // namespace compatcheck::symbolic

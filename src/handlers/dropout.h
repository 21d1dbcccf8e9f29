// The parts of dropout in training mode.
#pragma once

#include <string_view>

#include "handlers/emission.h"

namespace compatcheck::handlers {

// Which elements stay: each with the probability 1 - p, where `p` is the name of an argument. One for each element of `like`.
Value random_mask(Emission& e, const Value& like, std::string_view p);
// x · mask / (1 - p): 0 for the elements that are dropped, NaN for those that are infinite or NaN, as in PyTorch.
Value kept(Emission& e, const Value& x, const Value& mask, std::string_view p);

}  // namespace compatcheck::handlers

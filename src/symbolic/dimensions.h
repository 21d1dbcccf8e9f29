// Arguments that count a tensor's dimensions.
#pragma once

#include <cstddef>
#include <optional>

#include "symbolic/registry.h"

namespace compatcheck::symbolic {

// Among how many dimensions the call's arguments of such names choose: the highest rank of its tensors, or one more where the
// result has one more. Nothing if a rank isn't known, or the names mean something else (the counts of tile, a width elsewhere).
std::optional<std::size_t> counted_rank(const Call& call);

// No for a constant dimension that is out of range for the highest rank of the call's tensors; PyTorch refuses it.
Verdict dimensions_exist(const Call& call);

}  // namespace compatcheck::symbolic

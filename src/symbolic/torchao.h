// Blocks of a tensor that share a scale and a zero point, as torchao's operators define them.
#pragma once

#include <optional>

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

struct Blocks {
  Shape parted;                     // the input's sizes; a dimension of several blocks is two, their number and their size
  std::vector<std::int64_t> inner;  // dimensions of `parted` within a block
  Shape numbers;                    // how many blocks there are in each dimension of the input
  std::vector<std::int64_t> sizes;  // the block's size in each dimension of the input; 0: the whole dimension
};
// The blocks of `input`; nullopt if its shape or the block's sizes aren't known. Throws Impossible if they don't fit.
std::optional<Blocks> blocks_of(const Call& call);

}  // namespace compatcheck::symbolic

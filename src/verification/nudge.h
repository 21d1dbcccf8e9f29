// Inputs that are rounded differently.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/constant.h"

namespace compatcheck::verification {

// The same value with changed last bits of floating elements, also in members of lists, tuples and dictionaries: draw 0 flips
// all of them, later draws flip different halves. Zeros, infinities and NaN stay unchanged. Tensors must have their bytes.
// `narrow`: changes the last bits that a float of this dtype would have.
ir::Constant nudged(const ir::Constant& value, std::uint64_t draw, std::optional<ir::DType> narrow = {});

}  // namespace compatcheck::verification

// Floats that are rounded a little differently.
#pragma once

#include <cstdint>
#include <span>

#include "ir/dtype.h"

namespace compatcheck::ir {

// Flips the last bit of all elements (draw 0) or of half of them. Zeros and what isn't finite stay, as do other dtypes.
// `narrow`: the last bit that the elements would have in this dtype, where that has fewer.
void flip_last_bits(std::span<std::uint8_t> elements, DType dtype, std::uint64_t draw, DType narrow);
inline void flip_last_bits(std::span<std::uint8_t> elements, DType dtype, std::uint64_t draw) {
  flip_last_bits(elements, dtype, draw, dtype);
}

}  // namespace compatcheck::ir

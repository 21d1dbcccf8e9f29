// The types of a traced model's example inputs, read from their pickle without making any: libtorch can't make all of them where
// their elements aren't in the file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/type.h"

namespace compatcheck::frontend {

// Returns the types of forward's arguments, in order; null for what the pickle stores no type of (sparse tensors, objects).
// Throws ModelError for other pickles.
std::vector<ir::TypeRef> traced_types(std::span<const std::uint8_t> pickle);

}  // namespace compatcheck::frontend

// Branches that only the shapes of inputs leave open.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "symbolic/call.h"

namespace compatcheck::conversion {

enum class Around : std::uint8_t { branches, branches_and_loops };

// The model inputs whose dtype and shape decide whether `block` runs at all (conditions of the Ifs around it), or how often
// (trip counts of the Loops), where that hangs on sizes, ranks and dtypes alone, not on what tensors hold. Empty if no
// --input would tell.
std::vector<std::uint32_t> inputs_deciding(const ir::Block& block, const symbolic::FactTable& facts, Around around);

}  // namespace compatcheck::conversion

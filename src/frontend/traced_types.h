// The types of a traced model's example inputs, read from their pickle without making any: libtorch can't make all of them where
// their elements aren't in the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"

namespace compatcheck::frontend {

// Returns the types of forward's arguments, in the order of their `names`; null for what the pickle stores no type of (sparse
// tensors, objects). Behind them follow the tensors in lists, tuples and dictionaries, under the names of members
// ("batch.mask"), with dtype and rank.
// Throws ModelError for other pickles.
std::vector<ir::RecordedInput> traced_inputs(std::span<const std::uint8_t> pickle, std::span<const std::string> names);

}  // namespace compatcheck::frontend

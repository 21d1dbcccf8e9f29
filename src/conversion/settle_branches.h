// An If whose ways give tensors of different ranks or dtypes: ONNX has no value of which the rank isn't known.
#pragma once

#include <cstddef>

#include "ir/graph.h"
#include "ir/watch.h"
#include "symbolic/call.h"

namespace compatcheck::conversion {

// Readers of such a tensor move into both blocks of the If, up to the operators whose results have one rank whatever their
// arguments are. For a graph without writes. Returns how many nodes moved.
std::size_t settle_branches(ir::Graph& graph, const symbolic::FactTable& facts, const ir::Watch& watch);

}  // namespace compatcheck::conversion

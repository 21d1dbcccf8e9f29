// Whether x.to(dtype) gives x itself or a copy, as soon as facts tell the dtype of x.
#pragma once

#include <cstddef>

#include "ir/graph.h"
#include "ir/watch.h"
#include "symbolic/call.h"

namespace compatcheck::conversion {

// Of a graph that writes: a call that copies gets copy=True, which no alias analysis takes for x; one that doesn't is x. Returns
// how many calls changed.
std::size_t settle_copies(ir::Graph& graph, const symbolic::FactTable& facts, const ir::Watch& watch);

}  // namespace compatcheck::conversion

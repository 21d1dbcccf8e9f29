// Whether a call gives its argument, a view of it or a copy, as soon as facts tell; and the parts of a split, as soon as their
// number is known.
#pragma once

#include <cstddef>

#include "ir/graph.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "symbolic/call.h"

namespace compatcheck::conversion {

// For a graph that writes. Calls that return their argument are replaced by it; others are marked for the alias analysis and the
// functionalization of writes (passes/memory_marks.h). Returns how many calls changed.
std::size_t settle_memory(ir::Graph& graph, const symbolic::FactTable& facts, const ir::Program* program, const ir::Watch& watch);

// x.split(2) as a list of its parts, where that helps: the list is cut or changed, or something is written.
// `writes`: the graph does.
std::size_t settle_parts(ir::Graph& graph, const symbolic::FactTable& facts, bool writes, const ir::Watch& watch);

}  // namespace compatcheck::conversion

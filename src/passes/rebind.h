// Operators that change a tensor object, but no memory: x.t_() is x = x.t(), x.set_(y) lets x be y's memory. What reads the
// object later reads a view; values read from it before, and the memory itself, stay as they are.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "schema/schema.h"

namespace compatcheck::passes {

// Returns how many calls became views. Where another value may be the same object, a call stays. Objects that the caller gives
// are added to `lost`.
std::size_t rebind_tensors(ir::Graph& graph, const ir::Program* program, const schema::Registry& registry,
                           std::vector<ir::LostWrite>* lost, const ir::Watch& watch);

}  // namespace compatcheck::passes

// Sorting as code of the program.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "ir/program.h"

namespace compatcheck::passes {

// The code of aten::sort and aten::sorted for a list of objects, tensors, or tuples that hold some: a graph with the inputs and
// results of `node`, in which objects are compared by calls of their method __lt__. nullopt if it is another node.
std::optional<ir::Graph> sorting_of(const ir::Node& node, const ir::Program& program);

}  // namespace compatcheck::passes

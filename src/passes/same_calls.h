// Whether a model does the same in two calls.
#pragma once

#include "ir/graph.h"
#include "ir/watch.h"

namespace compatcheck::passes {

// For a graph that holds two calls, one behind the other, whose outputs are the graph's: whether the nodes behind `second` are
// those before it, in order, but for some that only compute, and the outputs are the same. Removes unread nodes.
bool are_same_calls(ir::Graph& graph, const ir::Node& second, const ir::Watch& watch);

}  // namespace compatcheck::passes

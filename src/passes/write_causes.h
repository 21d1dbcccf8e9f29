// Which in-place writes stay only because another one does.
#pragma once

#include <unordered_map>

#include "ir/graph.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "schema/schema.h"

namespace compatcheck::passes {

// For writes that unresolved_writes names: those that would have a form without another write to the same memory, or without a
// value that may share it; and that write, or the node that makes that value.
std::unordered_map<const ir::Node*, const ir::Node*> write_causes(const ir::Graph& graph, const ir::Program* program,
                                                                  const schema::Registry& registry, const ir::Watch& watch = {});

}  // namespace compatcheck::passes

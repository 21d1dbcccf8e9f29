// Branches that only raise.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace compatcheck::passes {

// Exceptions by this name count as something that the caller sees: no pass takes them away, but with a branch that never runs.
inline constexpr std::string_view kept_exception = "prim::KeptException";
bool keep_exceptions(ir::Graph& graph);  // whether there are any
bool release_exceptions(ir::Graph& graph);

// The block that only raises, of an If whose other one may not; null for all other nodes.
const ir::Block* raising_block(const ir::Node& node);

// The nodes that raise, in order: in branches that drop_assertions would take away, and where every run raises.
std::vector<const ir::Node*> assertions(const ir::Graph& graph);

}  // namespace compatcheck::passes

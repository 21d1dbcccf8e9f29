// Python's own functions on sizes and numbers (_operator.add, math.trunc, torch.sym_max) as TorchScript's operators.
#pragma once

#include <span>
#include <string_view>

#include "ir/graph.h"

namespace compatcheck::frontend::pt2 {

class NodeWriter;

// The result, computed at the end of the block; null for a function that isn't known for these arguments.
ir::Value* python_function(NodeWriter& nodes, std::string_view target, std::span<ir::Value* const> arguments);

}  // namespace compatcheck::frontend::pt2

// The outputs of If and Loop in the order in which they are first used, as libtorch's emitter leaves them.
// Source: torch/csrc/jit/passes/canonicalize.cpp.
#pragma once

#include "ir/graph.h"

namespace compatcheck::frontend::native {

void order_outputs(ir::Graph& graph);

}  // namespace compatcheck::frontend::native

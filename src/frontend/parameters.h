// How many weights a loaded model holds.
#pragma once

#include "frontend/load.h"

namespace compatcheck::frontend {

// Counts all tensors that the root object reaches or the code holds. Views of one storage count once, as the whole storage.
Parameters count_parameters(const ir::Program& program);
Parameters count_parameters(const ir::Graph& graph);

}  // namespace compatcheck::frontend

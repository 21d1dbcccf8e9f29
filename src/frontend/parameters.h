// How many weights a loaded model holds.
#pragma once

#include "frontend/load.h"

namespace compatcheck::frontend {

// Of all tensors that the root object reaches or the code holds; views of one storage count once, as the whole of it.
Parameters count_parameters(const ir::Program& program);
Parameters count_parameters(const ir::Graph& graph);

}  // namespace compatcheck::frontend

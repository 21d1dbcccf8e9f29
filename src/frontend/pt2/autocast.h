// The casts that PyTorch makes in a region of torch.autocast, which the file doesn't state.
#pragma once

#include "frontend/pt2/node_writer.h"

namespace compatcheck::frontend::pt2 {

// Adds the casts before the call `made`, whose first result has the dtype `result` in the file. If the casts can't be known, the
// call becomes an operator in the namespace autocast, which nothing converts.
void cast_as_autocast(NodeWriter& nodes, const Autocast& autocast, ir::Node& made, std::optional<ir::DType> result);

}  // namespace compatcheck::frontend::pt2

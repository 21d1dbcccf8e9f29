// Batch and instance normalization in training mode. It updates its running statistics, which its schema doesn't state.
#pragma once

#include <string>

#include "frontend/pt2/node_writer.h"

namespace compatcheck::frontend::pt2 {

// Adds the update of the statistics before the call and removes them from its arguments: the result doesn't depend on them. For
// the form that returns the statistics: the results of the call, which it replaces. For other operators: none.
Values with_stated_writes(NodeWriter& nodes, const std::string& op, Values& arguments);

}  // namespace compatcheck::frontend::pt2

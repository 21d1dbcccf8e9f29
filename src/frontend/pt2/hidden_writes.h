// Batch and instance normalization in training mode. It updates its running statistics, which its schema doesn't state.
#pragma once

#include <string>
#include <string_view>

#include "frontend/pt2/node_writer.h"

namespace compatcheck::frontend::pt2 {

// An attribute of the nodes whose statistics were removed from the arguments: the model was exported in training mode.
inline constexpr std::string_view batch_statistics_mark = "batch_statistics";

struct StatedWrites {
  bool any = false;
  Values results{};
};

// Adds the update of the statistics before the call and removes them from its arguments: the result doesn't depend on them. For
// the form that returns the statistics: the results of the call, which it replaces. For other operators: nothing.
StatedWrites with_stated_writes(NodeWriter& nodes, const std::string& op, Values& arguments);

}  // namespace compatcheck::frontend::pt2

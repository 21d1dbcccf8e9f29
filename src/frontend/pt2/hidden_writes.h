// Normalization in training mode, which moves its running statistics although its schema doesn't say so.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace compatcheck::frontend::pt2 {

class GraphReader;

// Puts the statistics and the writes before the call, whose arguments then lack them: what the call gives doesn't hang on them.
// Of the form that returns statistics the results instead, none for other operators.
std::vector<ir::Value*> with_stated_writes(GraphReader& reader, const std::string& op, std::vector<ir::Value*>& arguments);

}  // namespace compatcheck::frontend::pt2

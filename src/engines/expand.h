// A node's function as the nodes of its body.
#pragma once

#include <optional>
#include <vector>

#include "engines/node.h"

namespace compatcheck::engines {

// Returns the nodes of a function that the model carries, or that ONNX's schema defines at the node's opset; nullopt if the
// node calls neither, or its types can't be inferred.
std::optional<std::vector<Node>> expand(const Node& node);

}  // namespace compatcheck::engines

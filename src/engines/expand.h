// A node's function as the nodes of its body.
#pragma once

#include <optional>
#include <vector>

#include "engines/node.h"

namespace compatcheck::engines {

// Expands a function that the model carries, or one that ONNX's schema defines at the node's opset; nullopt if it is neither, or
// its types can't be inferred.
std::optional<std::vector<Node>> expand(const Node& node);

}  // namespace compatcheck::engines

// Structural operators: whether the graph that ONNX gets can do without them.
#pragma once

#include "convert/context.h"
#include "symbolic/registry.h"

namespace compatcheck::conversion {

// Yes if nothing is left of the node; else what is wanting. `listed` is its entry in mappings/structural.yaml.
symbolic::Verdict dissolves(const ir::Node& node, const mapping::Listed& listed, const Context& context);

}  // namespace compatcheck::conversion

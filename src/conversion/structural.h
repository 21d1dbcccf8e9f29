// Structural operators: whether the graph that ONNX gets can do without them.
#pragma once

#include <vector>

#include "conversion/context.h"
#include "handlers/operand.h"
#include "symbolic/registry.h"

namespace compatcheck::conversion {

bool is_call(const ir::Node& node);  // a call of a function that couldn't be inlined

// Yes if nothing of the node remains; else what is missing. `listed` is its entry in mappings/structural.yaml.
symbolic::Verdict dissolves(const ir::Node& node, const mapping::Listed& listed, const Context& context);

// The members of a list or tuple, as many as there are names for them. Throws Refusal.
std::vector<handlers::Operand> unpacked(const handlers::Operand& list, std::size_t count, onnx::Builder& builder);

}  // namespace compatcheck::conversion

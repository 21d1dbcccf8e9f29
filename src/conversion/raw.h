// The TorchScript graph as an ONNX file: each node in the domain of its namespace, blocks as graphs in attributes, tensors as
// initializers. Its reader must know the operators.
#pragma once

#include "conversion/context.h"
#include "conversion/lower.h"
#include "ir/graph.h"
#include "onnx/model.h"

namespace compatcheck::conversion {

// Throws Refusal for a node that no file holds: a constant of a class, a quantized tensor.
void demand_raw(const ir::Node& node);

// Converts a graph whose nodes all pass demand_raw. Throws UsageError for names that don't fit.
onnx::Model raw_model(const ir::Graph& graph, const Context& context, const LowerOptions& options);

}  // namespace compatcheck::conversion

// The graph rewritten: an ONNX model whose weights are still places in the model file.
#pragma once

#include <string>
#include <vector>

#include "convert/context.h"
#include "ir/graph.h"
#include "onnx/model.h"

namespace compatcheck::conversion {

struct LowerOptions {
  int opset = 17;
  std::vector<std::string> input_names, output_names;   // in order; empty: the model's own, "output_0" …
};

// Of a graph that Assessor finds convertible at the opset. Throws UsageError for names that don't fit, ModelError naming the
// call where something can't be expressed that no single call shows, InternalError where the trial promised more.
onnx::Model lower(const ir::Graph& graph, const Context& context, const LowerOptions& options);

}  // namespace compatcheck::conversion

// The graph rewritten: an ONNX model whose weights are still places in the model file.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "conversion/context.h"
#include "ir/graph.h"
#include "onnx/model.h"

namespace compatcheck::conversion {

struct LowerOptions {
  int opset = 17;
  std::vector<std::string> input_names, output_names;  // in order; empty: the model's own, "output_0" …
  std::unordered_set<const ir::Node*> foreign{};       // calls written as PyTorch's operators: those that Assessor keeps
};

// An ONNX value that stands for a value of the graph, or for a member of a list, tuple or dictionary.
struct Stand {
  const ir::Value* value = nullptr;
  // Through members, by their place; of a complex tensor 0 is the real part, 1 the imaginary one. Empty: the value itself.
  std::vector<std::size_t> path;
  onnx::ValueId onnx = onnx::absent;
};

// Converts a graph that Assessor finds convertible at the opset. Throws UsageError for names that don't fit, ModelError naming
// the call if something can't be expressed that no single call shows, InternalError if the trial promised more. `stands`,
// if given, lists the ONNX value of each value; constants and values known at conversion have none.
onnx::Model lower(const ir::Graph& graph, const Context& context, const LowerOptions& options,
                  std::vector<Stand>* stands = nullptr);

}  // namespace compatcheck::conversion

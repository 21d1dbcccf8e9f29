// The values of a call as inputs of the ONNX model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/prepare.h"
#include "verification/inputs.h"
#include "verification/onnx_graph.h"

namespace compatcheck::verification {

struct Statements {
  const std::vector<OnnxGraph::Given>& file;  // inputs of the user's ONNX file; empty for our own file
  const std::optional<std::string>&
      values;                               // metadata of the values that the user's file holds; nullopt: another exporter's file
  const std::vector<std::string>& options;  // those of --input
  const Model::State& model;
};

// Returns a value for each of `inputs`, in their order: by name, and the remaining values in the order of the call. Throws
// UsageError if the call has no value for an input, with the options that state one.
ir::Constants feed(const MadeCall& call, const std::vector<std::string>& inputs, const Statements& stated);

}  // namespace compatcheck::verification

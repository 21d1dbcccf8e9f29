// The differences inside two ONNX models: nodes with their attributes, and weights element by element.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compatcheck/diff.h"
#include "ir/watch.h"

namespace compatcheck::model_tools {

struct InnerDifference {
  std::vector<NodeChange> nodes;
  std::vector<WeightChange> weights;
  std::vector<PropertyChange> properties;  // of local functions
  bool elsewhere = false;                  // the files differ in something that is told by none of these
};

// Nodes belong together by their names, or else by what they give; weights by their names; both in the same graph, body or
// function. Throws ModelError, naming the file, for what can't be read.
InnerDifference compare_onnx(const std::filesystem::path& before, const std::filesystem::path& after, const ir::Watch& watch);

}  // namespace compatcheck::model_tools

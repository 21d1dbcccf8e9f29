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
  std::vector<PropertyChange> properties;  // changes of local functions
  bool elsewhere = false;                  // the files differ in something that none of these covers
};

// Nodes are matched by name, or else by output; weights by name; both within the same graph, body or function. Throws
// ModelError, naming the file, for a file that can't be read.
InnerDifference compare_onnx(const std::filesystem::path& before, const std::filesystem::path& after, const ir::Watch& watch);

}  // namespace compatcheck::model_tools

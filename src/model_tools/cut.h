// Which nodes lie between values of a graph.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "onnx_file/graph_index.h"

namespace compatcheck::model_tools {

struct Cut {
  std::vector<bool> nodes;  // for each node of the graph: whether `to` needs it
  std::unordered_set<std::string> initializers;
  std::vector<std::string> unread;  // values of `from` that no kept node reads
};

// From `to` back to `from`. Throws UsageError naming the inputs of the model that `to` needs and `from` lacks, ModelError for a
// name that nothing gives.
Cut cut(const onnx_file::GraphIndex& graph, const std::vector<std::string>& from, const std::vector<std::string>& to);

}  // namespace compatcheck::model_tools

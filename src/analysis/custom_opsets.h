// Versions of custom ONNX domains: those of the tables, overridden by --custom-opset.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compatcheck/export_type.h"
#include "ir/graph.h"
#include "mapping/table.h"

namespace compatcheck::analysis {

// `given` are "DOMAIN=N". Throws UsageError for what isn't, for a domain given two versions, and for one that neither a row of
// the table nor a node of the graph, where nodes are written as PyTorch's operators, can bring into the model.
std::map<std::string, int, std::less<>> custom_opsets(const std::vector<std::string>& given, const mapping::Table& table,
                                                      const ir::Graph& graph, ExportType type);

}  // namespace compatcheck::analysis

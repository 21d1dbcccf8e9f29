// Which nodes --op and --node ask for.
#pragma once

#include <string>
#include <vector>

#include "compatcheck/inspect.h"

namespace compatcheck::model_tools {

class NodeFilter {
 public:
  explicit NodeFilter(const InspectOptions& options);

  bool on() const { return !options_.operators.empty() || !options_.nodes.empty(); }
  // Whether the filter accepts "ai.onnx::Conv", "com.microsoft::Gelu", "aten::add" with overload "Tensor"; the names are the
  // node's and its outputs'.
  bool takes(const std::string& op, const std::string& overload, const std::vector<std::string>& names);
  // Names the filters that matched no node: "no node is an operator Cnov; did you mean Conv?". One sentence, or nothing.
  std::string unmatched(const std::vector<std::string>& operators, const std::vector<std::string>& names) const;

 private:
  const InspectOptions& options_;
  std::vector<bool> operator_met_, node_met_;
};

}  // namespace compatcheck::model_tools

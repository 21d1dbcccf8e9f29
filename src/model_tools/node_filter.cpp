#include "model_tools/node_filter.h"

#include <algorithm>

#include "model_tools/names.h"

namespace compatcheck::model_tools {
namespace {

// "Conv" is an operator of any domain, "ai.onnx::Conv" one of that.
bool is_operator(const std::string& pattern, const std::string& op, const std::string& overload) {
  const auto matches = [&](const std::string& name) {
    if (name == pattern) return true;
    const auto colons = name.rfind("::");
    return pattern.find("::") == pattern.npos && colons != name.npos && name.substr(colons + 2) == pattern;
  };
  return matches(op) || (!overload.empty() && matches(op + "." + overload)) || "ai.onnx::" + op == pattern;
}

}  // namespace

NodeFilter::NodeFilter(const InspectOptions& options)
    : options_(options), operator_met_(options.operators.size()), node_met_(options.nodes.size()) {}

bool NodeFilter::takes(const std::string& op, const std::string& overload, const std::vector<std::string>& names) {
  bool passes = !on();
  for (std::size_t i = 0; i < options_.operators.size(); ++i)
    if (is_operator(options_.operators[i], op, overload)) passes = operator_met_[i] = true;
  for (std::size_t i = 0; i < options_.nodes.size(); ++i)
    if (std::ranges::find(names, options_.nodes[i]) != names.end()) passes = node_met_[i] = true;
  return passes;
}

std::string NodeFilter::unmatched(const std::vector<std::string>& operators, const std::vector<std::string>& names) const {
  std::string text;
  for (std::size_t i = 0; i < operator_met_.size(); ++i)
    if (!operator_met_[i])
      text += (text.empty() ? "" : "; ") + ("no node is of operator " + options_.operators[i]) +
              near_names(options_.operators[i], operators);
  for (std::size_t i = 0; i < node_met_.size(); ++i)
    if (!node_met_[i])
      text += (text.empty() ? "" : "; ") + ("no node is, or gives, " + options_.nodes[i]) + near_names(options_.nodes[i], names);
  return text;
}

}  // namespace compatcheck::model_tools

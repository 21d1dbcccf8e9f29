#include "model_tools/node_filter.h"

#include <algorithm>

#include "model_tools/names.h"

namespace compatcheck::model_tools {
namespace {

// "Conv" is an operator of any domain, "ai.onnx::Conv" one of that.
bool is_operator(const std::string& wanted, const std::string& op, const std::string& overload) {
  const auto matches = [&](const std::string& name) {
    if (name == wanted) return true;
    const auto colons = name.rfind("::");
    return wanted.find("::") == wanted.npos && colons != name.npos && name.substr(colons + 2) == wanted;
  };
  return matches(op) || (!overload.empty() && matches(op + "." + overload)) || "ai.onnx::" + op == wanted;
}

}  // namespace

NodeFilter::NodeFilter(const InspectOptions& options)
    : options_(options), operator_met_(options.operators.size()), node_met_(options.nodes.size()) {}

bool NodeFilter::takes(const std::string& op, const std::string& overload, const std::vector<std::string>& names) {
  bool taken = !on();
  for (std::size_t i = 0; i < options_.operators.size(); ++i)
    if (is_operator(options_.operators[i], op, overload)) taken = operator_met_[i] = true;
  for (std::size_t i = 0; i < options_.nodes.size(); ++i)
    if (std::ranges::find(names, options_.nodes[i]) != names.end()) taken = node_met_[i] = true;
  return taken;
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

#include "analysis/graph_summary.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/findings.h"

namespace compatcheck::analysis {
namespace {

using conversion::Status;

// Names by number, in the order in which they are met.
class Names {
 public:
  explicit Names(std::vector<std::string>& names) : names_(names) {}
  std::uint32_t number(const std::string& name) {
    const auto [entry, fresh] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return entry->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

GraphSummary::Outcome word(const conversion::Outcome& outcome) {
  switch (outcome.kept.value_or(outcome.status)) {
    case Status::ok: return outcome.structural ? GraphSummary::Outcome::structural : GraphSummary::Outcome::ok;
    case Status::missing: return GraphSummary::Outcome::missing;
    case Status::refused: return GraphSummary::Outcome::refused;
    case Status::needs_input: return GraphSummary::Outcome::needs_input;
    case Status::unassessed: return GraphSummary::Outcome::unassessed;
  }
  return GraphSummary::Outcome::unassessed;
}

// Returns the node that makes the value; for a block's input, the node that owns the block.
const ir::Node* source_of(const ir::Value* value) {
  if (value->producer()) return value->producer();
  return value->block() ? value->block()->owner() : nullptr;
}

std::string types_of(const ir::Node& node, const symbolic::FactTable& facts) {
  constexpr std::size_t most_results = 8;
  std::string text;
  for (const ir::Value* output : node.outputs().first(std::min(node.outputs().size(), most_results)))
    text += (text.empty() ? "" : ", ") + symbolic::to_string(facts.of(output));
  return node.outputs().size() > most_results ? text + ", …" : text;
}

// "Transpose, 2 MatMul"
std::string emission_of(const conversion::Outcome& outcome) {
  std::map<std::string, int> counts;
  std::vector<std::string> order;
  for (const onnx::Emitted& node : outcome.emitted) {
    if (!counts.contains(node.op)) order.push_back(node.op);
    counts[node.op] += node.count;
  }
  std::string text;
  for (const std::string& op : order)
    text += (text.empty() ? "" : ", ") + (counts[op] > 1 ? std::to_string(counts[op]) + " " : "") + op;
  return text;
}

}  // namespace

GraphSummary summarize_graph(const conversion::Assessment& assessment, const symbolic::FactTable& facts) {
  GraphSummary summary;
  Names operators(summary.operators), modules(summary.modules), types(summary.types), calls(summary.calls),
      emissions(summary.emissions);
  std::unordered_map<const ir::Node*, std::uint32_t> places;
  for (const auto& outcome : assessment.outcomes) {
    const ir::Node& node = *outcome.node;
    places.emplace(&node, static_cast<std::uint32_t>(summary.nodes.size()));
    const std::string name = node.overload().empty() ? node.op() : node.op() + "." + node.overload();
    GraphSummary::Node made{.op = operators.number(name),
                            .module = modules.number(node.module()),
                            .outcome = word(outcome),
                            .inputs = {},
                            .type = types.number(types_of(node, facts)),
                            .call = calls.number(spell_call(node)),
                            .onnx = emissions.number(emission_of(outcome))};
    for (const ir::Value* input : node.inputs())
      if (const auto from = places.find(source_of(input)); from != places.end()) made.inputs.push_back(from->second);
    std::sort(made.inputs.begin(), made.inputs.end());
    made.inputs.erase(std::unique(made.inputs.begin(), made.inputs.end()), made.inputs.end());
    summary.nodes.push_back(std::move(made));
  }
  return summary;
}

}  // namespace compatcheck::analysis

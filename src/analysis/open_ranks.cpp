#include "analysis/open_ranks.h"

#include <algorithm>
#include <set>

#include "analysis/site.h"
#include "conversion/changed_rank.h"

namespace compatcheck::analysis {
namespace {

bool is_open(const ir::Value* value, const symbolic::FactTable& facts) {
  const auto* tensor = facts.of(value).tensor();
  const bool never_read = value->producer() && value->producer()->is("prim::Uninitialized");
  return tensor && !tensor->shape && !never_read;
}

// The operands and results of blocks from which an open rank may come.
const ir::Value* open_source(const ir::Node& node, const symbolic::FactTable& facts, const std::set<const ir::Value*>& seen) {
  const auto found = [&](std::span<ir::Value* const> values) -> const ir::Value* {
    const auto open =
        std::ranges::find_if(values, [&](const ir::Value* value) { return !seen.contains(value) && is_open(value, facts); });
    return open == values.end() ? nullptr : *open;
  };
  for (const ir::Block* block : node.blocks())
    if (const ir::Value* value = found(block->outputs())) return value;
  return found(node.inputs());
}

// The node at which the number of dimensions gets open; null for an input of the model.
const ir::Node* decider(const ir::Value* value, const symbolic::FactTable& facts) {
  std::set<const ir::Value*> seen;
  const ir::Node* node = value->producer();
  while (node && seen.insert(value).second) {
    const ir::Value* source = open_source(*node, facts, seen);
    if (!source || !source->producer()) return node;
    value = source;
    node = value->producer();
  }
  return node;
}

// The call in whose place an If stands that chooses a dimension: a branch gives its result, and it has the If's place.
const ir::Node& written_call(const ir::Node& node) {
  if (!node.is("prim::If")) return node;
  for (const ir::Block* block : node.blocks())
    for (const ir::Value* output : block->outputs()) {
      const ir::Node* inner = output->producer();
      if (!inner || inner->owner() != block || !inner->location() || inner->location() != node.location()) continue;
      if (const ir::Node& call = written_call(*inner); call.schema()) return call;
    }
  return node;
}

std::string advice_on_rank(const ir::Node& call, const symbolic::FactTable& facts) {
  const std::string help = "if another program reads the file, give the result as many dimensions in every run";
  const auto* tensor = call.inputs().empty() ? nullptr : facts.of(call.input(0)).tensor();
  const auto is_named = [](const symbolic::Dim& size) { return !size.is_number() && !size.is_unknown(); };
  const bool named = tensor && tensor->shape && std::ranges::any_of(*tensor->shape, is_named);
  return named ? help + ", or state the sizes of the inputs as numbers (--input)" : help;
}

}  // namespace

std::vector<Finding> collect_open_ranks(const conversion::Assessment& assessment, const conversion::Context& context) {
  if (context.export_type != ExportType::onnx) return {};  // a kept operator leaves dtypes open, too: docs/export-types.md
  std::vector<Finding> findings;
  for (const conversion::OpenOutput& output : assessment.open_outputs) {
    const ir::Node* node = decider(output.value, context.facts);
    if (!node) continue;
    const ir::Node& call = written_call(*node);
    const auto changed = &call == node ? conversion::changed_rank(*node, context.facts) : std::nullopt;
    Finding finding;
    finding.id = "CC017";
    finding.severity = Severity::warning;
    finding.op = call.op();
    finding.overload = call.overload();
    finding.message = "output " + output.name + " has no shape in the ONNX file: " +
                      (changed ? changed->reason : "only the running model knows how many dimensions the result has") +
                      "; ONNX Runtime accepts such a file, onnx.checker refuses it";
    finding.help = changed ? changed->hint : advice_on_rank(call, context.facts);
    finding.nodes = 1;
    const auto index = std::ranges::find(assessment.outcomes, node, &conversion::Outcome::node) - assessment.outcomes.begin();
    finding.sites.push_back(site_of(call, static_cast<std::uint32_t>(index)));
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace compatcheck::analysis

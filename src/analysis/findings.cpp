#include "analysis/findings.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/input_spec.h"
#include "analysis/rules.h"
#include "analysis/scaffold.h"
#include "analysis/site.h"
#include "convert/foreign.h"

namespace compatcheck::analysis {
namespace {

using conversion::Outcome;
using conversion::Status;

struct Numbered {
  const Outcome* outcome;
  std::uint32_t index;  // of the node, in graph order
};

std::string_view rule_of(const Outcome& outcome, const onnx::Schema* counterpart) {
  if (outcome.kept.value_or(outcome.status) == Status::missing) {
    if (outcome.unknown_operator) return "CC003";
    if (counterpart) return "CC011";
    return outcome.available_from ? "CC002" : "CC001";
  }
  if (outcome.unresolved_write) return "CC007";
  return outcome.row && outcome.row->random ? "CC008" : "CC005";
}

// What the operator becomes at the opset that helps: "GridSample".
std::string onnx_at(const Outcome& outcome, int opset, const conversion::Context& context) {
  const auto found = context.table.find(outcome.node->op(), outcome.node->overload(), opset, context.schemas);
  for (const auto& row : found.rows)
    if (row.kind == mapping::Row::Kind::mapped) return mapping::joined(row.to);
  return {};
}

// A table's hint may name an opset as well ("use opset 16, or …"): the one that was tried says it better.
std::string without_opset(const std::string& hint) {
  constexpr std::string_view lead = "use opset ";
  if (!hint.starts_with(lead)) return hint;
  const auto rest = hint.find_first_not_of("0123456789", lead.size());
  if (rest == std::string::npos) return {};
  constexpr std::string_view otherwise = ", or ";
  return hint.compare(rest, otherwise.size(), otherwise) == 0 ? hint.substr(rest + otherwise.size()) : hint;
}

// Overloads that aren't `out=` forms of others.
bool has_several_forms(const ir::Node& node, const conversion::Context& context) {
  return std::ranges::count_if(context.schemas.overloads(node.op()),
                               [](const schema::Schema* schema) { return !schema->is_out(); }) > 1;
}

// The text of a graph may say what a call gives; a guess in the row would overrule it.
bool says_results(const ir::Node& node) {
  return std::ranges::all_of(node.outputs(), [](const ir::Value* output) {
    const auto& type = output->type();
    return type && type->kind == ir::TypeKind::tensor && type->tensor.dtype && type->tensor.sizes;
  });
}

std::string row_for(const Outcome& outcome, std::string_view rule, const onnx::Schema* counterpart,
                    const conversion::Context& context) {
  const bool helps = rule == "CC003" || rule == "CC011" || (rule == "CC001" && outcome.hint.empty());
  if (!helps) return {};
  const ir::Node& node = *outcome.node;
  const bool has_facts = !context.table.facts(node.op(), node.overload(), context.schemas).empty() ||
                         context.registry.find_facts(node.op(), node.overload());
  return row_to_add(schema_of_call(node), {.state_schema = outcome.unknown_operator,
                                           .state_facts = !has_facts && !says_results(node),
                                           .name_overload = has_several_forms(node, context),
                                           .onnx = counterpart});
}

std::string help_of(const Outcome& outcome, std::string_view rule, const onnx::Schema* counterpart,
                    const conversion::Context& context) {
  if (rule == "CC003" && outcome.node->is("prim::PythonOp")) return "a row in a --mappings file:";
  if (rule == "CC003") return "--op-library with the library that registers it, and a row in a --mappings file:";
  if (rule == "CC011") return "ONNX has " + std::string(counterpart->name) + "; a row in a --mappings file:";
  if (outcome.available_from) {
    const std::string onnx = onnx_at(outcome, *outcome.available_from, context), hint = without_opset(outcome.hint);
    return "--opset " + std::to_string(*outcome.available_from) + (onnx.empty() ? "" : " (" + onnx + ")") +
           (hint.empty() ? "" : ", or " + hint);
  }
  if (rule == "CC001") {
    const std::string& overload = outcome.node->overload();
    const std::string name =
        outcome.node->op() + (overload.empty() || !has_several_forms(*outcome.node, context) ? "" : "." + overload);
    const std::string scaffold = "`compatcheck explain " + name + " --scaffold yaml`";
    return outcome.hint.empty() ? scaffold + ", or a row in a --mappings file:" : outcome.hint + "; or " + scaffold;
  }
  if (!outcome.hint.empty()) return outcome.hint;
  return rule == "CC007" ? "write the value out of place; `compatcheck explain CC007`" : "";
}

class Collector {
 public:
  Collector(const ir::Graph& graph, const conversion::Context& context, int opset)
      : graph_(graph), context_(context), opset_(opset) {}

  void add(const Numbered& numbered) {
    context_.watch.step();
    const Outcome& outcome = *numbered.outcome;
    switch (outcome.status) {
      case Status::missing:
      case Status::refused:
        add_failure(numbered, Severity::error, outcome.reason);
        add_wanting(numbered);
        break;
      case Status::needs_input: add_wanting(numbered); break;
      case Status::ok:
        if (outcome.kept)
          add_kept(numbered);
        else
          add_notes(numbered);
        break;
      case Status::unassessed: break;  // counted to the node it hangs on
    }
  }

  std::vector<Finding> take(std::vector<Finding> findings) {
    for (auto& [key, finding] : findings_) findings.push_back(std::move(finding));
    for (auto& [input, finding] : wanting_) findings.push_back(std::move(finding));
    sort(findings);
    return findings;
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, int>;

  Finding& add(std::string_view rule, Severity severity, const Numbered& numbered, const std::string& message,
               const std::string& help) {
    const Outcome& outcome = *numbered.outcome;
    const ir::Node& node = *outcome.node;
    const int from = severity == Severity::error || outcome.kept ? outcome.available_from.value_or(0) : 0;
    auto [entry, fresh] = findings_.try_emplace(Key{rule, node.op(), node.overload(), message, from});
    Finding& finding = entry->second;
    if (fresh) {
      finding.id = rule;
      finding.severity = severity;
      finding.op = node.op();
      finding.overload = node.overload();
      finding.message = message;
      finding.help = help;
      if (from) finding.available_from = from;
    }
    ++finding.nodes;
    finding.sites.push_back(site_of(*numbered.outcome->node, numbered.index));
    return finding;
  }

  // Written as PyTorch's operator because it doesn't become ONNX.
  void add_kept(const Numbered& numbered) {
    const Outcome& outcome = *numbered.outcome;
    if (*outcome.kept != Status::missing && *outcome.kept != Status::refused) return;
    add_failure(numbered, Severity::warning,
                "written as " + conversion::foreign_name(*outcome.node, context_.export_type) + ": " + outcome.reason);
  }

  void add_failure(const Numbered& numbered, Severity severity, const std::string& message) {
    const Outcome& outcome = *numbered.outcome;
    const bool missing = outcome.kept.value_or(outcome.status) == Status::missing;
    const auto* onnx = missing && !outcome.available_from
                           ? counterpart(outcome.node->op(), schema_of_call(*outcome.node), opset_, context_.schemas)
                           : nullptr;
    const auto rule = rule_of(outcome, onnx);
    Finding& finding = add(rule, severity, numbered, message, help_of(outcome, rule, onnx, context_));
    if (finding.row.empty()) finding.row = row_for(outcome, rule, onnx, context_);
  }

  void add_notes(const Numbered& numbered) {
    const mapping::Row* row = numbered.outcome->row;
    if (!row) return;
    if (row->random)
      add("CC008", Severity::warning, numbered, "the result is random",
          "fix the randomness outside the model to compare results");
    if (!row->approximate.empty()) add("CC010", Severity::warning, numbered, row->approximate, "");
    if (!row->one_to_one() && !row->to.empty()) add("CC004", Severity::note, numbered, "becomes " + mapping::joined(row->to), "");
  }

  // One finding a model input.
  void add_wanting(const Numbered& numbered) {
    const Outcome& outcome = *numbered.outcome;
    for (const std::uint32_t input : outcome.wants) {
      auto [entry, fresh] = wanting_.try_emplace(input);
      Finding& finding = entry->second;
      if (fresh) start_wanting(finding, input, outcome);
      ++finding.nodes;
      finding.sites.push_back(site_of(*numbered.outcome->node, numbered.index));
    }
  }

  void start_wanting(Finding& finding, std::uint32_t input, const Outcome& outcome) {
    const auto leaves = input_leaves(graph_);
    const auto leaf =
        std::find_if(leaves.begin(), leaves.end(), [&](const InputLeaf& candidate) { return candidate.input == input; });
    const std::string name = leaf == leaves.end() ? std::to_string(input) : leaf->name;
    finding.id = "CC006";
    finding.severity = Severity::error;
    finding.op = outcome.node->op();
    finding.overload = outcome.node->overload();
    finding.message = "the dtype and shape of input '" + name + "' decide: " +
                      (outcome.status == Status::missing ? "whether " + outcome.node->op() + " runs" : outcome.reason);
    finding.help = "--input " + name + "=f32:1,3,224,224 with its own dtype and sizes, or names for sizes that vary";
  }

  const ir::Graph& graph_;
  const conversion::Context& context_;
  int opset_;
  std::map<Key, Finding> findings_;
  std::map<std::uint32_t, Finding> wanting_;
};

}  // namespace

void sort(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(a.severity, -a.nodes, std::string_view(a.id)) < std::tuple(b.severity, -b.nodes, std::string_view(b.id));
  });
}

std::vector<Finding> collect_findings(const ir::Graph& graph, const conversion::Assessment& assessment,
                                      const conversion::Context& context, int opset, std::vector<Finding> others) {
  Collector collector(graph, context, opset);
  std::uint32_t index = 0;
  for (const Outcome& outcome : assessment.outcomes) collector.add({&outcome, index++});
  return collector.take(std::move(others));
}

}  // namespace compatcheck::analysis

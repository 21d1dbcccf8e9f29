#include "analysis/findings.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analysis/advice.h"
#include "analysis/container_advice.h"
#include "analysis/required_input.h"
#include "analysis/rules.h"
#include "analysis/scaffold.h"
#include "analysis/site.h"
#include "conversion/foreign.h"
#include "ir/control_flow.h"
#include "ir/value_name.h"
#include "onnx/runtime_types.h"
#include "symbolic/quantizer.h"

namespace compatcheck::analysis {
namespace {

using conversion::Outcome;
using conversion::Status;

struct Numbered {
  const Outcome* outcome;
  std::uint32_t index;  // the node's index in graph order
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

// Attributes that a model keeps between calls are one problem, however many there are.
constexpr std::string_view keeps_attributes = "the model writes attributes, which keep their values from call to call";

bool keeps_attribute(const Outcome& outcome) {
  return outcome.unresolved_write && outcome.node->is("prim::SetAttr") && ir::constant_of(outcome.node->input(0)) &&
         !outcome.node->attribute(passes::state_obstacle);
}

class FindingCollector {
 public:
  FindingCollector(const ir::Graph& graph, const conversion::Context& context, int opset, const Causes& causes, bool for_engines)
      : graph_(graph), context_(context), opset_(opset), causes_(causes), for_engines_(for_engines) {}

  void add(const Numbered& numbered) {
    context_.watch.step();
    const Outcome& outcome = *numbered.outcome;
    switch (outcome.status) {
      case Status::missing:
      case Status::refused:
        if (const Outcome* root = causes_.root_of(outcome))
          add_dependent(outcome, *root);
        else
          add_failure(numbered, Severity::error, outcome.reason);
        if (outcome.status == Status::refused) add_wanting(numbered);
        break;
      case Status::needs_input: add_wanting(numbered); break;
      case Status::ok:
        if (outcome.kept)
          add_kept(numbered);
        else
          add_notes(numbered);
        break;
      case Status::unassessed:
        if (const Outcome* root = causes_.root_of(outcome)) add_dependent(outcome, *root);
        break;
    }
  }

  std::vector<Finding> take(std::vector<Finding> findings) {
    std::map<Finding*, std::map<std::string, int>> hanging;
    for (const auto& [dependent, nodes] : dependents_) {
      const auto& [root, op] = dependent;
      if (const auto finding = failures_.find(root); finding != failures_.end()) hanging[finding->second][op] += nodes;
    }
    for (auto& [key, finding] : findings_)
      if (finding.message == keeps_attributes && !attributes_.empty()) finding.message = spell_attributes();
    for (const auto& [finding, option] : constants_) finding->help += (finding->help.empty() ? "" : "; or ") + option;
    for (auto& [finding, decisions] : deciding_)
      if (decisions.size() == 1) finding->message += *decisions.begin();
    for (auto& [finding, operators] : hanging) finding->message += "; " + spell_dependents(operators);
    for (auto& [key, finding] : findings_) findings.push_back(std::move(finding));
    for (auto& [input, wanting] : wanting_) findings.push_back(finding_of(std::move(wanting)));
    if (std::ranges::count_if(findings, [](const Finding& finding) { return !finding.row.empty(); }) > 1)
      std::ranges::for_each(findings, put_into_one_file);
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
    const auto* onnx = missing && !outcome.available_from && !is_beyond_rows(*outcome.node)
                           ? counterpart(outcome.node->op(), schema_of_call(*outcome.node), opset_, context_.schemas)
                           : nullptr;
    const auto rule = rule_of(outcome, onnx);
    const bool keeps = rule == "CC007" && keeps_attribute(outcome);
    const auto advice = keeps ? std::nullopt : container_advice(outcome);
    Finding& finding = add(rule, severity, numbered,
                           keeps    ? std::string(keeps_attributes)
                           : advice ? advice->reason
                                    : message + (outcome.unresolved_write ? long_loop_around(outcome) : ""),
                           "");
    if (advice) finding.help = advice->hint;
    if (!outcome.option.empty() && outcome.wants.empty()) constants_.emplace(&finding, outcome.option);
    if (keeps) attributes_.insert(attribute_of(*outcome.node));
    failures_.emplace(outcome.node, &finding);
    if (!finding.row.empty() || advice) return;
    finding.row = row_for(outcome, rule, onnx, context_, for_engines_ ? std::optional(opset_) : std::nullopt);
    if (finding.nodes == 1 || !finding.row.empty()) finding.help = help_of(outcome, rule, onnx, finding.row, context_, opset_);
    if (finding.nodes == 1 && outcome.status == Status::missing) add_deciding_inputs(outcome, finding);
    if (outcome.status == Status::missing && !outcome.wants.empty()) deciding_[&finding].insert(decision_around(*outcome.node));
  }

  // " (the condition at model.py:12 decides)": of the innermost If around the call; empty if it has no place.
  static std::string decision_around(const ir::Node& node) {
    for (const ir::Block* block = node.owner(); block && block->owner(); block = block->parent()) {
      const ir::Node& owner = *block->owner();
      if (!owner.is("prim::If") || ir::constant_of(ir::IfView(owner).condition())) continue;
      const std::string place = place_text(site_of(owner, 0));
      return place.empty() ? place : " (the condition" + place + " decides)";
    }
    return {};
  }

  // The inputs that decide whether a call runs for which there is no mapping.
  void add_deciding_inputs(const Outcome& outcome, Finding& finding) const {
    if (outcome.wants.empty()) return;
    std::string options = outcome.option;
    if (options.empty())
      for (const std::uint32_t input : outcome.wants)
        options += (options.empty() ? "" : "; ") + required_input(graph_, input, context_.facts).option;
    finding.help +=
        (finding.help.empty() ? "" : "; or ") + std::string("state sizes with which the call doesn't run: ") + options;
  }

  // Mended when the root is: it is counted there.
  void add_dependent(const Outcome& outcome, const Outcome& root) { ++dependents_[{root.node, outcome.node->op()}]; }

  static std::string attribute_of(const ir::Node& write) {
    const ir::Constant* name = write.attribute("name");
    const auto* text = name ? name->get<std::string>() : nullptr;
    return text ? *text : std::string("?");
  }

  // "the model writes attributes 'cell_anchors' and 'scales', which keep their values from call to call".
  std::string spell_attributes() const {
    if (attributes_.size() == 1)
      return "the model writes attribute '" + *attributes_.begin() + "', which keeps its value from call to call";
    std::string names;
    for (auto name = attributes_.begin(); name != attributes_.end(); ++name)
      names += std::string(names.empty() ? "'" : std::next(name) == attributes_.end() ? " and '" : ", '") + *name + "'";
    return "the model writes attributes " + names + ", which keep their values from call to call";
  }

  // "37 more nodes don't convert because they depend on this operator: aten::len (20), aten::add (17)".
  static std::string spell_dependents(const std::map<std::string, int>& operators) {
    constexpr std::size_t most_shown = 3;
    std::vector<std::pair<std::string, int>> sorted(operators.begin(), operators.end());
    std::ranges::stable_sort(sorted, std::ranges::greater{}, &std::pair<std::string, int>::second);
    int nodes = 0;
    std::string names;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      nodes += sorted[i].second;
      if (i < most_shown) names += (i ? ", " : "") + sorted[i].first + " (" + std::to_string(sorted[i].second) + ")";
    }
    if (sorted.size() > most_shown) names += " ...";
    return std::to_string(nodes) +
           (nodes == 1 ? " more node doesn't convert because it depends on this operator: "
                       : " more nodes don't convert because they depend on this operator: ") +
           names;
  }

  // ONNX Runtime doesn't load a model with an operator for which it has no kernel.
  void add_randomness(const Numbered& numbered, const std::vector<std::string>& onnx) {
    std::string message = "the result is random";
    std::string help = is_for_training(*numbered.outcome->node)
                           ? stop_training(context_.program)
                           : "call model.eval() before saving if only training draws these numbers; otherwise pass the random "
                             "numbers to the model as an input";
    for (const std::string& op : onnx) {
      const int last = compatcheck::onnx::last_with_kernel(op, opset_);
      if (last == opset_) continue;
      message += ", and ONNX Runtime has no kernel for " + op + " at opset " + std::to_string(opset_);
      if (last) help += ", or use --opset " + std::to_string(last);
      break;
    }
    add("CC008", Severity::warning, numbered, message, help);
  }

  void add_notes(const Numbered& numbered) {
    const mapping::Row* row = numbered.outcome->row;
    if (!row) return;
    Becomes becomes;
    becomes.add(*numbered.outcome);
    if (row->random) add_randomness(numbered, becomes.onnx);
    if (normalizes_as_in_training(*numbered.outcome->node))
      add("CC008", Severity::warning, numbered, "the call normalizes by the statistics of the batch, as in training",
          stop_training(context_.program));
    if (!row->approximate.empty()) add("CC010", Severity::warning, numbered, row->approximate, "");
    if (!context_.table.is_users(row->place) && symbolic::may_round_otherwise({*numbered.outcome->node, context_.facts}))
      add("CC010", Severity::warning, numbered, std::string(symbolic::other_rounding), "");
    for (const std::string& difference : numbered.outcome->differences)
      add("CC010", Severity::warning, numbered, difference, "convert without --prefer compact");
    if (!numbered.outcome->doubt.empty())
      add("CC005", Severity::warning, numbered, numbered.outcome->doubt,
          "remove `facts` from the row if PyTorch's result is right");
    if (becomes.several) add("CC004", Severity::note, numbered, "becomes " + mapping::joined(becomes.onnx), "");
  }

  // The calls that need one model input.
  struct Wanting {
    Finding finding;
    RequiredInput required;
    std::vector<std::pair<std::string, std::string>> reasons;  // operator, reason; each once
    std::vector<std::string> beside_opset{};                   // what hints advise besides another opset
    std::optional<int> settled_from = 0;                       // the opset at which none of its calls needs the input
  };

  void add_wanting(const Numbered& numbered) {
    const Outcome& outcome = *numbered.outcome;
    const ir::Node& node = *outcome.node;
    for (const std::uint32_t input : outcome.wants) {
      auto [entry, fresh] = wanting_.try_emplace(input);
      Wanting& wanting = entry->second;
      Finding& finding = wanting.finding;
      if (fresh) {
        wanting.required = required_input(graph_, input, context_.facts);
        finding.id = "CC006";
        finding.severity = Severity::error;
        finding.op = node.op();
        finding.overload = node.overload();
        finding.input = ir::input_name(*graph_.inputs()[input]);
        finding.help = wanting.required.option;
      }
      if (!outcome.option.empty() && tried_.insert(input).second)
        finding.help = outcome.option;  // an option that a trial confirmed replaces a derived one
      const auto advice = container_advice(outcome);
      const std::string hint = outcome.available_from ? without_opset(outcome.hint) : outcome.hint;
      const std::string other = advice ? advice->hint : outcome.option.empty() ? std::string() : hint;
      if (!other.empty() && other != outcome.hint && !advice) {
        if (std::ranges::find(wanting.beside_opset, other) == wanting.beside_opset.end()) wanting.beside_opset.push_back(other);
      } else if (!other.empty() && finding.help.find(other) == std::string::npos) {
        finding.help += "; or " + other;
      }
      const std::pair reason(node.op(), advice ? advice->reason : outcome.reason);
      if (std::ranges::find(wanting.reasons, reason) == wanting.reasons.end()) wanting.reasons.push_back(reason);
      if (!outcome.available_from || outcome.wants_there)
        wanting.settled_from.reset();
      else if (wanting.settled_from)
        wanting.settled_from = std::max(*wanting.settled_from, *outcome.available_from);
      ++finding.nodes;
      if (!node.is("prim::Return")) finding.sites.push_back(site_of(node, numbered.index));
    }
  }

  static Finding finding_of(Wanting wanting) {
    Finding finding = std::move(wanting.finding);
    finding.message = wanting.required.only_scale
                          ? "the ONNX model needs " + wanting.required.what + ", which the file doesn't hold"
                          : "the verdict depends on " + wanting.required.what + ": " + spell(wanting.reasons);
    finding.available_from = wanting.settled_from;
    if (finding.available_from) finding.help += ", or --opset " + std::to_string(*finding.available_from);
    for (const std::string& other : wanting.beside_opset) finding.help += ", or " + other;
    return finding;
  }

  // A single reason alone; several reasons each with their operator.
  static std::string spell(const std::vector<std::pair<std::string, std::string>>& reasons) {
    constexpr std::size_t most_shown = 3;
    const auto is_first = [&](const auto& reason) { return reason.second == reasons.front().second; };
    if (std::ranges::all_of(reasons, is_first)) return reasons.front().second;
    std::string text;
    for (std::size_t i = 0; i < std::min(reasons.size(), most_shown); ++i)
      text += (i ? "; " : "") + reasons[i].first + ": " + reasons[i].second;
    return reasons.size() > most_shown ? text + "; and " + std::to_string(reasons.size() - most_shown) + " more" : text;
  }

  const ir::Graph& graph_;
  const conversion::Context& context_;
  int opset_;
  const Causes& causes_;
  bool for_engines_;
  std::map<Key, Finding> findings_;
  std::unordered_map<const ir::Node*, Finding*> failures_;             // the finding of each failing node
  std::map<std::pair<const ir::Node*, std::string>, int> dependents_;  // number of dependent nodes, keyed by root and operator
  std::map<Finding*, std::string> constants_;                          // options with which its calls convert
  std::map<Finding*, std::set<std::string>> deciding_;                 // conditions that decide whether its calls run
  std::map<std::uint32_t, Wanting> wanting_;
  std::set<std::uint32_t> tried_;     // inputs for which an option was tried
  std::set<std::string> attributes_;  // attributes that keep their values between calls
};

}  // namespace

void sort(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(a.severity, -a.nodes, std::string_view(a.id)) < std::tuple(b.severity, -b.nodes, std::string_view(b.id));
  });
}

std::vector<Finding> collect_findings(const ir::Graph& graph, const conversion::Assessment& assessment,
                                      const conversion::Context& context, int opset, std::vector<Finding> others,
                                      const WriteCauses& writes, bool for_engines) {
  const Causes causes(assessment, context, writes);
  FindingCollector collector(graph, context, opset, causes, for_engines);
  std::uint32_t index = 0;
  for (const Outcome& outcome : assessment.outcomes) collector.add({&outcome, index++});
  return collector.take(std::move(others));
}

}  // namespace compatcheck::analysis

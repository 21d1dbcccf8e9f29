#include "analysis/findings.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analysis/rules.h"
#include "analysis/scaffold.h"
#include "analysis/site.h"
#include "analysis/wanted_input.h"
#include "conversion/foreign.h"
#include "symbolic/condition.h"

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

// What the operator becomes at the opset that helps: "GridSample", "Gather, Mul, Add and 17 more".
std::string onnx_at(const Outcome& outcome, int opset, const conversion::Context& context) {
  constexpr std::size_t most_whole = 6, named = 3;
  const auto found = context.table.find(outcome.node->op(), outcome.node->overload(), opset, context.schemas);
  const auto row = std::ranges::find(found.rows, mapping::Row::Kind::mapped, &mapping::Row::kind);
  if (row == found.rows.end()) return {};
  if (row->to.size() <= most_whole) return mapping::joined(row->to);
  return mapping::joined({row->to.begin(), row->to.begin() + named}) + " and " + std::to_string(row->to.size() - named) + " more";
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

// Lists of lists, dictionaries, strings, objects, what a list or dictionary holds, control flow: no ONNX operator takes or gives
// them, so no row helps.
bool has_kind(const ir::TypeRef& type, std::initializer_list<ir::TypeKind> kinds) {
  if (!type) return false;
  return std::ranges::find(kinds, type->kind) != kinds.end() ||
         std::ranges::any_of(type->elements, [&](const ir::TypeRef& inner) { return has_kind(inner, kinds); });
}

bool is_list_of_lists(const ir::TypeRef& type) {
  return ir::is(type, ir::TypeKind::list) && ir::is(type->elements.front(), ir::TypeKind::list);
}

bool is_beyond_rows(const ir::Node& node) {
  if (node.is("prim::PythonOp")) return false;
  if (node.op().starts_with("prim::") || !node.blocks().empty()) return true;
  using enum ir::TypeKind;
  const auto beyond = [](const ir::TypeRef& type) {
    return is_list_of_lists(type) || has_kind(type, {dict, named, module, any_class});
  };
  const auto of_value = [&](const ir::Value* value) { return beyond(value->type()); };
  const schema::Schema call = schema_of_call(node);
  const auto of_part = [&](const auto& part) { return beyond(part.type); };
  const bool no_tensors = std::ranges::none_of(call.arguments, is_tensor) && std::ranges::none_of(call.returns, is_tensor);
  return no_tensors || std::ranges::any_of(node.inputs(), of_value) || std::ranges::any_of(node.outputs(), of_value) ||
         std::ranges::any_of(call.arguments, of_part) || std::ranges::any_of(call.returns, of_part);
}

std::string row_for(const Outcome& outcome, std::string_view rule, const onnx::Schema* counterpart,
                    const conversion::Context& context) {
  const bool helps = rule == "CC003" || rule == "CC011" || (rule == "CC001" && outcome.hint.empty());
  if (!helps) return {};
  const ir::Node& node = *outcome.node;
  if (is_beyond_rows(node)) return {};
  const bool has_facts = !context.table.facts(node.op(), node.overload(), context.schemas).empty() ||
                         context.registry.find_facts(node.op(), node.overload());
  return row_to_add(schema_of_call(node), {.state_schema = outcome.unknown_operator,
                                           .state_facts = !has_facts && !says_results(node),
                                           .name_overload = has_several_forms(node, context),
                                           .complex = symbolic::has_complex(symbolic::Call(node, context.facts)),
                                           .onnx = counterpart});
}

// The row itself follows.
std::string advise_row(const std::string& row, std::string_view also = {}) {
  const bool facts = row.find(facts_to_fill) != std::string::npos, domain = row.find("your.domain") != std::string::npos;
  std::string text = "save this row in a file";
  if (facts || domain)
    text += std::string(", replace ") + (facts ? "TODO" : "") + (facts && domain ? " and " : "") + (domain ? "your.domain" : "") +
            ",";
  return text.append(" and add --mappings FILE").append(also) + ":";
}

// `row`: what row_for gives.
std::string help_of(const Outcome& outcome, std::string_view rule, const onnx::Schema* counterpart, const std::string& row,
                    const conversion::Context& context) {
  constexpr std::string_view beyond_rows = "keep this operator out of the model: ONNX operators can't read or return such values";
  if (rule == "CC003") {
    if (row.empty()) return std::string(beyond_rows) + ", so no row can map it";
    return advise_row(row, outcome.node->is("prim::PythonOp") ? "" : " (verify also needs --op-library LIB.so)");
  }
  if (rule == "CC011") return "ONNX has " + std::string(counterpart->name) + ": " + advise_row(row);
  if (outcome.available_from) {
    const std::string onnx = onnx_at(outcome, *outcome.available_from, context), hint = without_opset(outcome.hint);
    return "--opset " + std::to_string(*outcome.available_from) + (onnx.empty() ? "" : " (" + onnx + ")") +
           (hint.empty() ? "" : ", or " + hint);
  }
  if (rule == "CC001") {
    const std::string& overload = outcome.node->overload();
    const std::string name =
        outcome.node->op() + (overload.empty() || !has_several_forms(*outcome.node, context) ? "" : "." + overload);
    if (is_beyond_rows(*outcome.node)) return outcome.hint.empty() ? std::string(beyond_rows) : outcome.hint;
    // `explain` needs the library to know operators that it registers, and a report doesn't name the file.
    static const schema::Registry shipped;
    if (!shipped.contains(outcome.node->op()))
      return outcome.hint.empty() ? advise_row(row) : outcome.hint + "; or add a mapping row (--mappings FILE)";
    const std::string scaffold = "`compatcheck explain " + name + " --scaffold yaml` prints ";
    return outcome.hint.empty() ? scaffold + "rows to start from; or " + advise_row(row)
                                : outcome.hint + "; or add a mapping row: " + scaffold + "one to start from";
  }
  if (!outcome.hint.empty()) return outcome.hint;
  if (rule == "CC007" && outcome.node->is("prim::SetAttr"))
    return "compute the value in __init__, or in a local variable in each call; see `compatcheck explain CC007`";
  return rule == "CC007" ? "compute a new value instead of writing in place (y = y + 1); see `compatcheck explain CC007`" : "";
}

// Operators that draw numbers in training mode alone.
bool is_for_training(const ir::Node& node) {
  return node.op().find("dropout") != std::string::npos || node.op().find("rrelu") != std::string::npos ||
         node.op().find("attention") != std::string::npos;
}

// A module that was scripted reads its own `training`, which is read as False: only the call itself can ask for it. A trace holds
// what `training` was.
std::string stop_training(const ir::Program* program) {
  const std::string in_code = "pass training=self.training instead (for dropout_p: 0.0 unless self.training)";
  if (program && !program->traced)
    return "the code asks for training mode in this call, and model.eval() doesn't change that: " + in_code +
           ", and save the model again";
  return "call model.eval() before tracing or exporting, and save the model again; if the code itself asks for training mode "
         "here, " +
         in_code;
}

// Attributes that a model keeps between calls are one thing to mend, however many there are.
constexpr std::string_view keeps_attributes = "the model writes attributes, which keep their values from call to call";

bool keeps_attribute(const Outcome& outcome) {
  return outcome.unresolved_write && outcome.node->is("prim::SetAttr") && ir::constant_of(outcome.node->input(0)) &&
         !outcome.node->attribute(passes::state_obstacle);
}

class FindingCollector {
 public:
  FindingCollector(const ir::Graph& graph, const conversion::Context& context, int opset, const Causes& causes)
      : graph_(graph), context_(context), opset_(opset), causes_(causes) {}

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
        add_wanting(numbered);
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
    for (auto& [finding, operators] : hanging) finding->message += "; " + spell_dependents(operators);
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
    const auto* onnx = missing && !outcome.available_from && !is_beyond_rows(*outcome.node)
                           ? counterpart(outcome.node->op(), schema_of_call(*outcome.node), opset_, context_.schemas)
                           : nullptr;
    const auto rule = rule_of(outcome, onnx);
    const bool keeps = rule == "CC007" && keeps_attribute(outcome);
    Finding& finding = add(rule, severity, numbered, keeps ? std::string(keeps_attributes) : message, "");
    if (keeps) attributes_.insert(attribute_of(*outcome.node));
    failures_.emplace(outcome.node, &finding);
    if (!finding.row.empty()) return;
    finding.row = row_for(outcome, rule, onnx, context_);
    if (finding.nodes == 1 || !finding.row.empty()) finding.help = help_of(outcome, rule, onnx, finding.row, context_);
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

  void add_notes(const Numbered& numbered) {
    const mapping::Row* row = numbered.outcome->row;
    if (!row) return;
    if (row->random)
      add("CC008", Severity::warning, numbered, "the result is random",
          is_for_training(*numbered.outcome->node) ? stop_training(context_.program)
                                                   : "call model.eval() before saving if only training draws these numbers; "
                                                     "otherwise pass the random numbers to the model as an input");
    if (!row->approximate.empty()) add("CC010", Severity::warning, numbered, row->approximate, "");
    for (const std::string& difference : numbered.outcome->differences)
      add("CC010", Severity::warning, numbered, difference, "convert without --prefer compact");
    Becomes becomes;
    becomes.add(*numbered.outcome);
    if (becomes.several) add("CC004", Severity::note, numbered, "becomes " + mapping::joined(becomes.onnx), "");
  }

  // One finding a model input.
  void add_wanting(const Numbered& numbered) {
    const Outcome& outcome = *numbered.outcome;
    for (const std::uint32_t input : outcome.wants) {
      auto [entry, fresh] = wanting_.try_emplace(input);
      Finding& finding = entry->second;
      if (fresh) start_wanting(finding, input, outcome);
      if (outcome.hint.starts_with("--input ") && tried_.insert(input).second)
        finding.help = outcome.hint;  // an option that a trial confirmed replaces a derived one
      ++finding.nodes;
      finding.sites.push_back(site_of(*numbered.outcome->node, numbered.index));
    }
  }

  void start_wanting(Finding& finding, std::uint32_t input, const Outcome& outcome) {
    const WantedInput wanted = wanted_input(graph_, input, context_.facts);
    finding.id = "CC006";
    finding.severity = Severity::error;
    finding.op = outcome.node->op();
    finding.overload = outcome.node->overload();
    finding.message =
        "the verdict depends on " + wanted.what + ": " +
        (outcome.status == Status::missing ? "it isn't known whether " + outcome.node->op() + " runs" : outcome.reason);
    finding.help = wanted.option;
  }

  const ir::Graph& graph_;
  const conversion::Context& context_;
  int opset_;
  const Causes& causes_;
  std::map<Key, Finding> findings_;
  std::unordered_map<const ir::Node*, Finding*> failures_;             // the finding of each failing node
  std::map<std::pair<const ir::Node*, std::string>, int> dependents_;  // by root and operator
  std::map<std::uint32_t, Finding> wanting_;
  std::set<std::uint32_t> tried_;     // inputs of which an option was tried
  std::set<std::string> attributes_;  // that keep their values between calls
};

}  // namespace

void sort(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(a.severity, -a.nodes, std::string_view(a.id)) < std::tuple(b.severity, -b.nodes, std::string_view(b.id));
  });
}

std::vector<Finding> collect_findings(const ir::Graph& graph, const conversion::Assessment& assessment,
                                      const conversion::Context& context, int opset, std::vector<Finding> others,
                                      const WriteCauses& writes) {
  const Causes causes(assessment, context, writes);
  FindingCollector collector(graph, context, opset, causes);
  std::uint32_t index = 0;
  for (const Outcome& outcome : assessment.outcomes) collector.add({&outcome, index++});
  return collector.take(std::move(others));
}

}  // namespace compatcheck::analysis

#include "analysis/dropped_assertions.h"

#include <algorithm>

#include "analysis/asserting_graph.h"
#include "analysis/site.h"
#include "compatcheck/error.h"
#include "passes/assertions.h"

namespace compatcheck::analysis {
namespace {

constexpr std::size_t longest_message = 200;
constexpr int most_parts = 1000;  // parts of one message

const std::string* constant_text(const ir::Value* value) {
  const ir::Constant* constant = ir::constant_of(value);
  return constant ? constant->get<std::string>() : nullptr;
}

// "size {} of {}" → "size … of …".
std::string without_placeholders(std::string pattern) {
  for (std::size_t at; (at = pattern.find("{}")) != pattern.npos;) pattern.replace(at, 2, "…");
  return pattern;
}

// Parts of the message that are known only at run time become "…". The end may be missing if the message is longer than the
// part that is shown: texts added to themselves grow without bound.
std::string message_of(const ir::Value* value) {
  std::string message;
  std::vector<const ir::Value*> open{value};
  for (int parts = 0; !open.empty() && parts < most_parts && message.size() <= longest_message; ++parts) {
    const ir::Value* part = open.back();
    open.pop_back();
    const ir::Node* producer = part->producer();
    if (const std::string* text = constant_text(part))
      message += *text;
    else if (producer && (producer->is("aten::format") || producer->is("aten::percentFormat")) && !producer->inputs().empty())
      open.push_back(producer->input(0));
    else if (producer && producer->is("aten::add") && producer->inputs().size() == 2)
      open.insert(open.end(), {producer->input(1), producer->input(0)});
  }
  return without_placeholders(std::move(message));
}

// "AssertionError: the batch is empty".
std::string exception_of(const ir::Node& raise) {
  std::string kind, message;
  if (!raise.inputs().empty()) message = message_of(raise.input(0));
  if (raise.inputs().size() > 1)
    if (const std::string* name = constant_text(raise.input(1))) kind = name->substr(name->rfind('.') + 1);
  if (kind.empty() || message.starts_with(kind)) kind = message.empty() ? "an exception" : "";
  while (message.ends_with(' ') || message.ends_with('\n')) message.pop_back();
  if (message.ends_with(':')) message.pop_back();
  std::ranges::replace(message, '\n', ' ');
  if (message.size() > longest_message) message = message.substr(0, longest_message) + "…";
  return kind + (kind.empty() || message.empty() ? "" : ": ") + message;
}

std::uint32_t count_nodes(const ir::Graph& graph) {
  std::uint32_t count = 0;
  ir::for_each_node(*graph.top(), [&](const ir::Node*) { ++count; });
  return count;
}

Finding finding_of_exception(const ir::Node& raise, const std::string& exception) {
  Finding finding;
  finding.id = "CC013";
  finding.op = "prim::RaiseException";
  if (!raise.owner()->owner()) {
    finding.severity = Severity::warning;
    finding.message = "TorchScript always raises an exception here, but the ONNX model doesn't: " + exception;
    finding.help = "compare the inputs that the model was saved for with those that the ONNX model gets";
    return finding;
  }
  finding.severity = Severity::note;
  finding.message = "TorchScript may raise an exception here, but the ONNX model doesn't: " + exception;
  finding.help = "check the inputs before the model runs; or state their sizes with --input, which may decide the assertion";
  return finding;
}

std::vector<Finding> collect(const Model::State& model, const Prepared& prepared, const ir::Watch& watch) {
  const Prepared asserting = prepare_asserting(model, prepared, watch, Keeping::assertions);
  const std::uint32_t end = count_nodes(prepared.graph);  // index for a node that isn't in the checked graph
  std::vector<Finding> findings;
  for (const ir::Node* raise : passes::assertions(asserting.graph)) {
    const std::string exception = exception_of(*raise);
    Finding made = finding_of_exception(*raise, exception);
    auto finding = std::ranges::find(findings, made.message, &Finding::message);
    if (finding == findings.end()) finding = findings.insert(findings.end(), std::move(made));
    ++finding->nodes;
    finding->sites.push_back(site_of(*raise, end));
    finding->sites.back().args = "raise";
  }
  return findings;
}

// "L['pair'].first.size()[0]", as Dynamo names a size, is "pair.first.size(0)".
std::string spell_guard(std::string guard) {
  for (std::size_t at; (at = guard.find("L['")) != guard.npos;) {
    const std::size_t end = guard.find("']", at);
    if (end == guard.npos) break;
    guard.erase(end, 2).erase(at, 3);
  }
  constexpr std::string_view size = ".size()[";
  for (std::size_t at = 0; (at = guard.find(size, at)) != guard.npos;) {
    const std::size_t end = guard.find(']', at);
    if (end == guard.npos) break;
    guard[end] = ')';
    guard.replace(at, size.size(), ".size(");
  }
  if (guard.starts_with('(')) {  // around the left side of a comparison
    int open = 0;
    const auto close = std::ranges::find_if(guard, [&](char c) { return (open += c == '(' ? 1 : c == ')' ? -1 : 0) == 0; });
    const std::string rest(close, guard.end());
    if (rest.starts_with(") == ") || rest.starts_with(") != ") || rest.starts_with(") < ") || rest.starts_with(") > ") ||
        rest.starts_with(") <= ") || rest.starts_with(") >= "))
      guard.erase(close), guard.erase(0, 1);
  }
  return guard;
}

// "Runtime assertion failed for expression u0 >= 0 on node 'ge_3'", as torch.export words it, in the user's terms.
std::string spell_assertion(const std::string& message) {
  constexpr std::string_view lead = "Runtime assertion failed for expression ", tail = " on node ";
  const std::size_t end = message.rfind(tail);
  if (!message.starts_with(lead) || end == message.npos || end < lead.size())
    return "PyTorch may raise an exception, but the ONNX model doesn't: " + message;
  const std::string condition = message.substr(lead.size(), end - lead.size());
  const std::size_t number = condition.find_first_of("0123456789");
  const bool computed = condition.starts_with('u') && number == 1;
  const std::string name = condition.substr(0, condition.find_first_not_of("u0123456789"));
  return "PyTorch raises an exception unless " + condition +
         (computed ? " (" + name + " is a number that the model computes)" : "") + "; the ONNX model doesn't check it";
}

// Returns the findings for an exported program's assertions, and for the sizes and conditions on sizes that torch.export
// recorded. Options that state all sizes have been checked against them.
std::vector<Finding> of_exported(const frontend::pt2::ExportedInterface& exported, bool open_sizes, const ir::Graph& graph) {
  std::vector<Finding> findings;
  const auto add = [&](std::string message, std::string help) -> Finding& {
    if (const auto known = std::ranges::find(findings, message, &Finding::message); known != findings.end()) return *known;
    Finding& finding = findings.emplace_back();
    finding.id = "CC013";
    finding.severity = Severity::note;
    finding.message = std::move(message);
    finding.help = std::move(help);
    return finding;
  };
  for (const std::string& condition : open_sizes ? exported.conditions : std::vector<std::string>())
    add("the program requires " + spell_guard(condition) + ", but the ONNX model doesn't check it",
        "check the sizes before the model runs, or state them as numbers: --input x=f32:4,8");
  for (const auto& [input, dim, size] : exported.fixed)
    add("dimension " + std::to_string(dim) + " of " + input + " is " + std::to_string(size) +
            " in this program, because a guard requires it",
        "to keep the dimension dynamic, remove what depends on its size, and export the model again");
  const std::uint32_t end = count_nodes(graph);
  for (const frontend::pt2::LeftOutAssertion& assertion : exported.assertions) {
    Finding& finding = add(spell_assertion(assertion.message), "check the inputs before the model runs");
    Site site = site_of(assertion.location, end);
    if (site.file.empty()) continue;
    site.module = assertion.module;
    site.args = "assert";
    ++finding.nodes;
    finding.sites.push_back(site);
  }
  return findings;
}

bool has_open_sizes(const Prepared& prepared) {
  return std::ranges::any_of(prepared.graph.inputs(), [&](const ir::Value* input) {
    const auto* tensor = prepared.facts.of(input).tensor();
    return tensor && (!tensor->shape || !std::ranges::all_of(*tensor->shape, &symbolic::Dim::is_number));
  });
}

}  // namespace

std::vector<Finding> collect_dropped_assertions(const Model::State& model, const Prepared& prepared, const ir::Watch& watch) {
  if (model.exported) return of_exported(*model.exported, has_open_sizes(prepared), prepared.graph);
  if (!has_asserting_graph(model)) return {};
  try {
    return collect(model, prepared, watch);
  } catch (const ModelError&) {  // with its branches the graph may exceed a limit that it doesn't exceed without them
    watch.look();
    return {};
  }
}

}  // namespace compatcheck::analysis

#include "conversion/assess.h"

#include <algorithm>

#include "conversion/branches.h"
#include "conversion/changed_rank.h"
#include "conversion/foreign.h"
#include "conversion/interface.h"
#include "ir/value_name.h"

namespace compatcheck::conversion {
namespace {

void refuse_without_row(Outcome& outcome, std::string reason) {
  outcome.status = Status::refused;
  outcome.reason = std::move(reason);
}

// Returns the type that a graph's text should state for a value; empty for a model's file, whose types can't be edited.
std::string type_to_state(const ir::Node& node, const Context& context) {
  if (context.program || node.outputs().size() != 1 || !ir::is(node.output()->type(), ir::TypeKind::tensor)) return {};
  return "write dtype and sizes into the type of " + ir::described(*node.output()) +
         " in the graph's text, such as Float(2, 8) instead of Tensor; or check the model's file";
}

// A failure in a branch that may never run, depending on the inputs' shapes, doesn't count yet, but missing operators are
// still named. A write in a loop that shapes will unroll doesn't count, either.
void leave_to_inputs(Outcome& outcome, DecidingInputs& inputs) {
  const auto around = outcome.unresolved_write ? Around::branches_and_loops : Around::branches;
  auto deciding = inputs.of(*outcome.node->owner(), around);
  if (deciding.empty()) return;
  outcome.wants = std::move(deciding);
  if (outcome.status == Status::missing) {
    outcome.reason += "; the sizes of the inputs decide whether this call runs";
    return;
  }
  outcome.status = Status::needs_input;
  outcome.reason =
      "the sizes of the inputs decide whether " + outcome.node->op() + " runs, or how often (" + outcome.reason + ")";
}

}  // namespace

template <class Make>
const Attempt& Assessor::remembered(Attempts& attempts, const ir::Node& node, int opset, Make&& make) {
  auto& known = attempts[&node];
  const auto holds = [&](const Attempt& attempt) { return attempt.range.from <= opset && opset <= attempt.range.to; };
  if (const auto found = std::ranges::find_if(known, holds); found != known.end()) return *found;
  return known.emplace_back(make());
}

const Attempt& Assessor::attempt_at(const ir::Node& node, int opset) {
  const int form = context_.forms ? context_.forms->of(node, opset) : opset;
  if (form == opset) return remembered(attempts_, node, opset, [&] { return attempter_.attempt(node, opset); });
  return form_at(node, opset, form);
}

const Attempt& Assessor::form_at(const ir::Node& node, int opset, int form) {
  const std::tuple key(&node, opset, form);
  if (const auto known = form_attempts_.find(key); known != form_attempts_.end()) return known->second;
  return form_attempts_.emplace(key, attempter_.attempt_form(node, opset, form)).first->second;
}

std::vector<int> Assessor::older_forms(const ir::Node& node, int opset) {
  std::vector<int> forms;
  for (int form = form_at(node, opset, opset).forms.from - 1; form >= mapping::lowest_opset;) {
    context_.watch.step();
    const Attempt& attempt = form_at(node, opset, form);
    // The call converts at that opset, too: a handler may count on what older opsets lack, such as dtypes.
    const auto converts = [](const Attempt& tried) { return tried.outcome.status == Status::ok && !tried.open; };
    if (converts(attempt) && converts(attempt_at(node, form))) forms.push_back(form);
    form = attempt.forms.from - 1;
  }
  return forms;
}

// Structural nodes, writes that would be lost and calls that PyTorch refuses are never kept.
bool Assessor::is_kept(const Outcome& outcome) const {
  if (context_.export_type == ExportType::raw) return true;
  if (!may_be_foreign(*outcome.node, context_.export_type) || outcome.structural || outcome.unresolved_write ||
      outcome.impossible)
    return false;
  return context_.export_type == ExportType::onnx_aten || is_failure(outcome.status);
}

void Assessor::keep(Outcome& outcome, int opset) {
  const Attempt& attempt =
      remembered(foreign_attempts_, *outcome.node, opset, [&] { return attempter_.attempt_foreign(*outcome.node, opset); });
  if (attempt.open) {  // an input determines the arguments
    outcome.status = Status::needs_input;
    outcome.reason = attempt.open->message;
    outcome.wants = attempt.open->wants;
    return;
  }
  if (attempt.outcome.status == Status::ok) {
    outcome.kept = outcome.status;
    outcome.status = Status::ok;
    outcome.wants.clear();
  } else if (is_failure(outcome.status)) {
    outcome.reason += "; nor can it stay PyTorch's operator: " + attempt.outcome.reason;
  } else {
    refuse_without_row(outcome, attempt.outcome.reason);
  }
  outcome.emitted = attempt.outcome.emitted;
}

Outcome Assessor::outcome_at(const ir::Node& node, int opset, const Earlier& earlier) {
  Outcome outcome = onnx_outcome_at(node, opset, earlier);
  if (context_.export_type != ExportType::onnx && is_kept(outcome)) keep(outcome, opset);
  return outcome;
}

Outcome Assessor::onnx_outcome_at(const ir::Node& node, int opset, const Earlier& earlier) {
  const Attempt& attempt = attempt_at(node, opset);
  Outcome outcome = attempt.outcome;
  if (!attempt.open) return outcome;
  const symbolic::Verdict& open = *attempt.open;
  const auto blamed = open.blame ? earlier.find(open.blame) : earlier.end();
  outcome.blamed = open.blame;
  outcome.of_unknown = open.wants.empty();
  const bool blamed_fails = blamed != earlier.end() && blamed->second != Status::ok;
  const bool depends_on_writes = open.wants.empty() && !context_.unresolved_writes.empty();
  if (blamed_fails || depends_on_writes)
    outcome.status = Status::unassessed;
  else if (!open.wants.empty())
    outcome.status = Status::needs_input;
  else {  // no input would settle it
    const bool row_is_blamed = open.blame && open.blame != &node && blamed != earlier.end();
    const auto changed = row_is_blamed ? changed_rank(*open.blame, context_.facts) : std::nullopt;
    const std::string why = changed         ? ": " + changed->reason
                            : row_is_blamed ? ": nothing says what " + open.blame->op() + " gives"
                                            : "";
    refuse_without_row(outcome, open.message + why);
    if (changed)
      outcome.hint = changed->hint;
    else if (row_is_blamed && context_.table.find_structural(open.blame->op()))
      outcome.hint = type_to_state(*open.blame, context_);
    else if (row_is_blamed)
      outcome.hint =
          "say in the row of " + open.blame->op() + " how its results follow from its arguments: `facts: same`, for example";
    else if (outcome.row)
      outcome.hint = outcome.row->hint;
    return outcome;
  }
  outcome.reason = open.message;
  outcome.wants = open.wants;
  return outcome;
}

void Assessor::find_available(Outcome& outcome, int opset) {
  if ((!outcome.rows && !outcome.structural) || outcome.unresolved_write) return;
  for (int higher = opset + 1; higher <= mapping::highest_opset; ++higher) {
    context_.watch.step();
    const Outcome then = outcome.kept ? onnx_outcome_at(*outcome.node, higher, {}) : outcome_at(*outcome.node, higher, {});
    if (then.status != Status::ok && then.status != Status::needs_input) continue;
    outcome.available_from = higher;
    outcome.row_there = then.row;
    outcome.wants_there = then.status == Status::needs_input;
    return;
  }
}

bool Assessment::convertible() const {
  return std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) { return outcome.status == Status::ok; });
}

Assessment Assessor::assess(int opset) {
  Assessment assessment;
  Earlier earlier;
  earlier.reserve(attempts_.size());
  DecidingInputs inputs(context_.facts);
  ir::for_each_node(*graph_.top(), [&](const ir::Node* node) {
    context_.watch.step();
    Outcome outcome = outcome_at(*node, opset, earlier);
    if (is_failure(outcome.status)) leave_to_inputs(outcome, inputs);
    earlier[node] = outcome.status;
    if (is_failure(outcome.kept.value_or(outcome.status))) find_available(outcome, opset);
    assessment.outcomes.push_back(std::move(outcome));
  });
  const bool gives_text = context_.export_type == ExportType::onnx && text_output(graph_);  // whatever the inputs are
  if (!assessment.convertible() && !gives_text) return assessment;
  Outcome interface = outcome_at(*graph_.top()->return_node(), opset, earlier);
  if (interface.status == Status::ok) {
    assessment.open_outputs = std::move(interface.open_outputs);
    assessment.interface = std::move(interface.interface);
    return assessment;
  }
  if (is_failure(interface.status)) find_available(interface, opset);
  assessment.outcomes.push_back(std::move(interface));
  return assessment;
}

std::unordered_set<const ir::Node*> Assessor::kept(int opset) {
  std::unordered_set<const ir::Node*> nodes;
  Earlier earlier;
  ir::for_each_node(*graph_.top(), [&](const ir::Node* node) {
    context_.watch.step();
    const Outcome outcome = outcome_at(*node, opset, earlier);
    earlier[node] = outcome.status;
    if (outcome.kept) nodes.insert(node);
  });
  return nodes;
}

std::optional<int> Assessor::lowest_opset() {
  std::vector<const ir::Node*> nodes;
  ir::for_each_node(*graph_.top(), [&](const ir::Node* node) { nodes.push_back(node); });
  nodes.push_back(graph_.top()->return_node());
  // The node that failed last is tried first: usually one operator decides for many opsets.
  std::size_t first = 0;
  for (int opset = mapping::lowest_opset; opset <= mapping::highest_opset; ++opset) {
    const auto ok = [&](const ir::Node* node) {
      context_.watch.step();
      if (context_.export_type != ExportType::onnx) return outcome_at(*node, opset, {}).status == Status::ok;
      const Attempt& attempt = attempt_at(*node, opset);
      return attempt.outcome.status == Status::ok && !attempt.open;
    };
    if (!nodes.empty() && !ok(nodes[first])) continue;
    const auto failing = std::find_if_not(nodes.begin(), nodes.end(), ok);
    if (failing == nodes.end()) return opset;
    first = static_cast<std::size_t>(failing - nodes.begin());
  }
  return std::nullopt;
}

}  // namespace compatcheck::conversion

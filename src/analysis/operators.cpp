#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "analysis/findings.h"
#include "symbolic/condition.h"

namespace compatcheck::analysis {
namespace {

using conversion::Outcome;
using conversion::Status;
using Name = std::pair<std::string, std::string>;  // operator, overload

// For an operator all of whose calls are refused: the first row that would map it.
const mapping::Row* first_mapped(const mapping::Lookup& found) {
  const auto row = std::find_if(found.rows.begin(), found.rows.end(),
                                [](const mapping::Row& candidate) { return candidate.kind == mapping::Row::Kind::mapped; });
  return row == found.rows.end() ? nullptr : &*row;
}

std::vector<RowUse> rows_of(const std::vector<const Outcome*>& calls, const mapping::Table& table) {
  std::map<std::tuple<std::string_view, int, int>, RowUse> uses;
  for (const Outcome* call : calls) {
    if (!call->row) continue;
    const mapping::Place& place = call->row->place;
    RowUse& use = uses[{place.file, place.line, place.column}];
    use.source = place.file;
    use.line = place.line;
    use.users = table.is_users(place);
    use.place = place.file + ":" + std::to_string(place.line);
    use.lifted = call->row->lifted;
    ++use.nodes;
  }
  std::vector<RowUse> rows;
  for (auto& [place, use] : uses) rows.push_back(std::move(use));
  return rows;
}

OperatorSummary summarize(const Name& name, const std::vector<const Outcome*>& calls, const conversion::Context& context,
                          int opset) {
  OperatorSummary summary;
  summary.op = name.first;
  summary.overload = name.second;
  summary.nodes = static_cast<int>(calls.size());
  summary.rows = rows_of(calls, context.table);
  std::optional<int> from;
  bool never = false, missing = false;
  summary.verified = true;
  for (const Outcome* call : calls) {
    missing |= call->kept.value_or(call->status) == Status::missing;
    if (call->kept && !call->structural) ++summary.kept;
    summary.verified &= call->kept || call->handled || call->structural || call->status != Status::ok;
    for (const auto& node : call->emitted) summary.emitted[node.op] += node.count;
    if (!conversion::is_failure(call->kept.value_or(call->status))) continue;
    if (!call->kept) ++summary.blocked;
    if (!call->available_from)
      never = true;
    else
      from = std::max(from.value_or(0), *call->available_from);
  }
  if (!never) summary.available_from = from;
  if (std::all_of(calls.begin(), calls.end(), [](const Outcome* call) { return call->structural; })) {
    summary.operator_class = OperatorClass::structural;
    return summary;
  }
  Becomes becomes;
  for (const Outcome* call : calls) becomes.add(*call);
  if (!becomes.known && !missing)
    if (const auto* row = first_mapped(context.table.find(name.first, name.second, opset, context.schemas))) becomes.add(*row);
  if (missing || !becomes.known) {
    // Operators that only read and write containers disappear once the inputs are stated.
    const bool goes = std::ranges::all_of(calls, [](const Outcome* call) { return call->status == Status::needs_input; });
    summary.operator_class = goes && !missing ? OperatorClass::structural : OperatorClass::missing;
    return summary;
  }
  summary.operator_class = becomes.several ? OperatorClass::one_to_many : OperatorClass::one_to_one;
  summary.onnx = std::move(becomes.onnx);
  if (calls.front()->since > 0) summary.since = calls.front()->since;
  return summary;
}

}  // namespace

void Becomes::add(const Outcome& call) {
  if (call.kept || !call.row || call.row->kind != mapping::Row::Kind::mapped) return;
  if (call.emitted.empty()) return add(*call.row);
  const bool works = !std::ranges::all_of(call.emitted, &onnx::Emitted::plumbing);
  const auto counts = [&](const onnx::Emitted& node) { return !works || !node.plumbing; };
  int nodes = 0;
  for (const auto& node : call.emitted) nodes += counts(node) ? node.count : 0;
  several |= nodes > 1;
  known = true;
  for (const std::string& name : call.row->to)  // in the row's order
    if (std::ranges::any_of(call.emitted, [&](const auto& node) { return counts(node) && node.op == name; })) add(name);
  for (const auto& node : call.emitted)
    if (counts(node)) add(node.op);
}

void Becomes::add(const mapping::Row& row) {
  several |= !row.one_to_one();
  known = true;
  for (const std::string& name : row.to) add(name);
}

void Becomes::add(const std::string& name) {
  if (std::ranges::find(onnx, name) == onnx.end()) onnx.push_back(name);
}

std::vector<OperatorSummary> summarize_operators(const conversion::Assessment& assessment, const conversion::Context& context,
                                                 int opset) {
  std::map<Name, std::vector<const Outcome*>> by_name;
  for (const Outcome& outcome : assessment.outcomes) by_name[{outcome.node->op(), outcome.node->overload()}].push_back(&outcome);
  std::vector<OperatorSummary> operators;
  for (const auto& [name, calls] : by_name) operators.push_back(summarize(name, calls, context, opset));
  return operators;
}

Summary summarize(const conversion::Assessment& assessment, const std::vector<OperatorSummary>& operators) {
  Summary summary;
  for (const auto& op : operators) {
    switch (op.operator_class) {
      case OperatorClass::one_to_one: ++summary.one_to_one; break;
      case OperatorClass::one_to_many: ++summary.one_to_many; break;
      case OperatorClass::missing: ++summary.missing; break;
      case OperatorClass::structural: ++summary.structural; continue;
    }
    ++summary.operators;
  }
  std::map<Status, std::map<Name, int>> operators_by_status;
  int converted = 0;
  for (const Outcome& outcome : assessment.outcomes) {
    if (outcome.structural && outcome.status == Status::ok) continue;
    ++summary.nodes;
    if (outcome.kept)
      ++summary.kept;
    else if (outcome.status == Status::ok)
      ++converted;
    else
      ++operators_by_status[outcome.status][{outcome.node->op(), outcome.node->overload()}];
  }
  summary.refused = static_cast<int>(operators_by_status[Status::refused].size());
  summary.needs_input = static_cast<int>(operators_by_status[Status::needs_input].size());
  summary.unassessed = static_cast<int>(operators_by_status[Status::unassessed].size());
  std::map<Name, int> failing;
  for (const auto& [status, names] : operators_by_status) failing.insert(names.begin(), names.end());
  for (const Outcome& outcome : assessment.outcomes)
    if (outcome.kept && !outcome.structural) failing[{outcome.node->op(), outcome.node->overload()}];
  if (summary.nodes > 0) summary.coverage_nodes = static_cast<double>(converted) / summary.nodes;
  if (summary.operators > 0)
    summary.coverage_operators = std::max(0.0, 1.0 - static_cast<double>(failing.size()) / summary.operators);
  summary.convertible = assessment.convertible();
  return summary;
}

}  // namespace compatcheck::analysis

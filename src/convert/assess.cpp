#include "convert/assess.h"

#include <algorithm>

#include "convert/branches.h"
#include "convert/structural.h"
#include "symbolic/condition.h"

namespace compatcheck::convert {
namespace {

using mapping::Lookup;
using mapping::Row;
using symbolic::Truth;

// Outcomes of earlier nodes at the same opset, for what hangs on a node that failed.
using Earlier = std::unordered_map<const ir::Node*, Status>;

void refuse(Outcome& outcome, const Row* row, std::string reason) {
  outcome.status = Status::refused;
  outcome.reason = std::move(reason);
  if (row) outcome.hint = row->hint;
}

void leave_open(Outcome& outcome, const symbolic::Verdict& verdict, const Earlier& earlier) {
  const auto blamed = verdict.blame ? earlier.find(verdict.blame) : earlier.end();
  if (blamed != earlier.end() && blamed->second != Status::ok) outcome.status = Status::unassessed;
  else if (!verdict.wants.empty()) outcome.status = Status::needs_input;
  else return refuse(outcome, outcome.row, verdict.message);  // no input would settle it
  outcome.reason = verdict.message;
  outcome.wants = verdict.wants;
}

void take(Outcome& outcome, const Row& row, const symbolic::Call& call) {
  outcome.row = &row;
  switch (row.kind) {
    case Row::Kind::mapped: {
      const auto dtypes = symbolic::takes_dtypes(row, call);
      if (dtypes.truth == Truth::yes) outcome.status = Status::ok;
      else refuse(outcome, &row, dtypes.message);
      return;
    }
    case Row::Kind::refuse: refuse(outcome, &row, row.reason); return;
    case Row::Kind::missing:
      outcome.status = Status::missing;
      outcome.reason = row.reason;
      outcome.hint = row.hint;
      return;
  }
}

// By number of arguments alone: their types can be known too little to tell an overload.
bool fits_some_overload(const ir::Node& node, const schema::Registry& schemas) {
  if (node.schema()) return true;
  const auto overloads = schemas.overloads(node.op());
  return overloads.empty() || std::any_of(overloads.begin(), overloads.end(), [&](const schema::Schema* schema) {
    return schema->variadic_arguments || schema->arguments.size() == node.inputs().size();
  });
}

// The first row that applies; what stands in the way of the first mapped one if none does.
void try_rows(Outcome& outcome, const Lookup& found, const symbolic::Call& call, const Context& context, const Earlier& earlier) {
  std::string broken;
  if (!fits_some_overload(call.node(), context.schemas))
    return refuse(outcome, nullptr, "the arguments fit no overload of " + call.node().op());
  const auto accepted = symbolic::accepts(context.table.valid(*found.op), call, context.registry, context.schemas);
  if (accepted.truth == Truth::no) return refuse(outcome, nullptr, "PyTorch refuses this call: " + accepted.message);
  for (const Row& row : found.rows) {
    if (!call.node().schema() && (!row.when.empty() || !row.required.empty()))
      return refuse(outcome, &row, "no schema tells the arguments that the row's conditions name");
    const auto verdict = symbolic::applies(row, call, context.registry, context.schemas);
    if (verdict.truth == Truth::yes) return take(outcome, row, call);
    if (verdict.truth == Truth::unknown) {
      outcome.row = &row;
      return leave_open(outcome, verdict, earlier);
    }
    if (row.kind == Row::Kind::mapped && broken.empty()) {
      broken = verdict.message;
      outcome.row = &row;
    }
  }
  refuse(outcome, outcome.row, broken);
}

// An entry ends where an operator of its rows changes its meaning.
void state_stale(Outcome& outcome, const Lookup& found, const Context& context, int opset) {
  const auto entry = std::ranges::find(found.op->history, found.since, &mapping::Entry::opset);
  const auto& change = *context.table.meaning_change(*entry, opset);
  outcome.status = Status::missing;
  outcome.reason = "the entry for opset " + std::to_string(found.since) + " ends at opset " + std::to_string(change.to) + ", where " +
                   change.op + " changed its meaning (" + change.why + ")";
  outcome.hint = "say in the table what holds from opset " + std::to_string(change.to) + " on";
}

void state_missing(Outcome& outcome, const Lookup& found, int opset) {
  outcome.status = Status::missing;
  if (found.status == Lookup::Status::unknown) {
    // Of an operator that nobody ships the schemas in force may hold one assumed from its calls.
    outcome.unknown_operator = !schema::Registry().contains(outcome.node->op());
    outcome.reason = outcome.unknown_operator ? "nobody ships this operator" : "no mapping";
    return;
  }
  for (const Row& row : found.rows) {
    if (row.kind != Row::Kind::missing) continue;
    outcome.row = &row;
    outcome.reason = row.reason;
    outcome.hint = row.hint;
    return;
  }
  outcome.reason = "no mapping at opset " + std::to_string(opset);
}

void try_structural(Outcome& outcome, const mapping::Listed& listed, const Context& context, const Earlier& earlier) {
  outcome.structural = true;
  const auto verdict = dissolves(*outcome.node, listed, context);
  if (verdict.truth == Truth::no) refuse(outcome, nullptr, verdict.message);
  else if (verdict.truth == Truth::unknown) leave_open(outcome, verdict, earlier);
}

Outcome assess_node(const ir::Node& node, const Context& context, int opset, const Earlier& earlier) {
  Outcome outcome;
  outcome.node = &node;
  if (const auto write = context.unresolved_writes.find(&node); write != context.unresolved_writes.end()) {
    outcome.unresolved_write = true;
    refuse(outcome, nullptr, write->second);
    return outcome;
  }
  const Lookup found = context.table.find(node.op(), node.overload(), opset, context.schemas);
  outcome.rows = found.op;
  outcome.since = found.since;
  switch (found.status) {
    case Lookup::Status::structural: try_structural(outcome, *found.listed, context, earlier); break;
    case Lookup::Status::rows:
      try_rows(outcome, found, symbolic::Call(node, context.facts), context, earlier);
      break;
    case Lookup::Status::stale: state_stale(outcome, found, context, opset); break;
    case Lookup::Status::missing:
    case Lookup::Status::unknown: state_missing(outcome, found, opset); break;
  }
  return outcome;
}

// A failure in a branch that may never run, as the inputs' shapes will tell, is no failure yet. Nor is a write in a loop that
// shapes will unroll.
void leave_to_inputs(Outcome& outcome, const symbolic::FactTable& facts) {
  const auto around = outcome.unresolved_write ? Around::branches_and_loops : Around::branches;
  auto deciding = inputs_deciding(*outcome.node->owner(), facts, around);
  if (deciding.empty()) return;
  outcome.status = Status::needs_input;
  outcome.reason = "sizes say whether " + outcome.node->op() + " runs, or how often (" + outcome.reason + ")";
  outcome.wants = std::move(deciding);
}

bool is_failure(Status status) { return status == Status::missing || status == Status::refused; }

std::optional<int> available_from(const Outcome& outcome, const Context& context, int opset) {
  if (!outcome.rows || outcome.unresolved_write) return std::nullopt;
  for (int higher = opset + 1; higher <= mapping::highest_opset; ++higher)
    if (assess_node(*outcome.node, context, higher, {}).status == Status::ok) return higher;
  return std::nullopt;
}

}  // namespace

bool Assessment::convertible() const {
  return std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) { return outcome.status == Status::ok; });
}

Assessment assess(const ir::Graph& graph, const Context& context, int opset) {
  Assessment assessment;
  Earlier earlier;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    Outcome outcome = assess_node(*node, context, opset, earlier);
    if (is_failure(outcome.status)) leave_to_inputs(outcome, context.facts);
    earlier[node] = outcome.status;
    if (is_failure(outcome.status)) outcome.available_from = available_from(outcome, context, opset);
    assessment.outcomes.push_back(std::move(outcome));
  });
  return assessment;
}

std::optional<int> lowest_opset(const ir::Graph& graph, const Context& context) {
  std::vector<const ir::Node*> nodes;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) { nodes.push_back(node); });
  // The node that failed last is tried first: usually one operator decides for many opsets.
  std::size_t first = 0;
  for (int opset = mapping::lowest_opset; opset <= mapping::highest_opset; ++opset) {
    const auto ok = [&](const ir::Node* node) { return assess_node(*node, context, opset, {}).status == Status::ok; };
    if (!nodes.empty() && !ok(nodes[first])) continue;
    const auto failing = std::find_if_not(nodes.begin(), nodes.end(), ok);
    if (failing == nodes.end()) return opset;
    first = static_cast<std::size_t>(failing - nodes.begin());
  }
  return std::nullopt;
}

}  // namespace compatcheck::convert

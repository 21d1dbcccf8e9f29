#include "conversion/attempt.h"

#include <algorithm>
#include <stdexcept>

#include "compatcheck/error.h"
#include "conversion/control_demands.h"
#include "conversion/defect.h"
#include "conversion/fact_rules.h"
#include "conversion/foreign.h"
#include "conversion/interface.h"
#include "conversion/live_nodes.h"
#include "conversion/raw.h"
#include "conversion/row_check.h"
#include "conversion/stated_facts.h"
#include "conversion/structural.h"
#include "conversion/trial_operands.h"
#include "ir/control_flow.h"
#include "ir/exported_ops.h"
#include "passes/rewrite.h"
#include "passes/stack_in_loops.h"
#include "symbolic/condition.h"
#include "symbolic/quantizer.h"

namespace compatcheck::conversion {
namespace {

using mapping::Lookup;
using mapping::Row;
using symbolic::Truth;

void refuse(Outcome& outcome, const Row* row, std::string reason) {
  outcome.status = Status::refused;
  outcome.reason = std::move(reason);
  if (row) outcome.hint = row->hint;
}

void refuse_misfit(Outcome& outcome, std::string reason) {
  outcome.impossible = true;
  refuse(outcome, nullptr, std::move(reason));
}

// Whether the node is a lookup of a bool key. The walk over containers looks for a key in the list of a dictionary's keys, and
// PyTorch has no such call for bools.
bool looks_for_bool(const ir::Node& node) {
  return node.is("aten::__contains__") && !node.schema() && ir::is(node.input(0)->type(), ir::TypeKind::list) &&
         ir::is(node.input(0)->type()->elements.front(), ir::TypeKind::boolean);
}

void refuse_bool_keys(Outcome& outcome) {
  refuse(outcome, nullptr,
         "only the running model knows the keys of this dictionary, and they are bools, which can't be looked for");
  outcome.hint = "use ints as keys: int(key)";
}

// Where a user's row states the facts, they refuse the call: PyTorch may accept it.
void refuse_impossible(Outcome& outcome, const std::string& reason, const mapping::Table& table) {
  const auto* rows = users_facts(outcome.node->op(), outcome.node->overload(), table);
  const std::string word = rows ? rows->facts : "";
  refuse_misfit(outcome,
                (word.empty() ? "PyTorch refuses this call: " : "`facts: " + word + "` doesn't fit this call: ") + reason);
  outcome.hint = word.empty() ? "correct the dtype and sizes in --input, or the call in the model"
                              : "correct the facts in your row, or the dtype and sizes in --input";
}

// By number of arguments alone: their types can be known too little to tell an overload.
bool fits_some_overload(const ir::Node& node, const schema::Registry& schemas) {
  if (node.schema()) return true;
  const auto overloads = schemas.overloads(node.op());
  return overloads.empty() || std::any_of(overloads.begin(), overloads.end(), [&](const schema::Schema* schema) {
           return schema->variadic_arguments || schema->arguments.size() == node.inputs().size();
         });
}

// Why a call has no schema, although one states the arguments that its row names.
std::string without_schema(const ir::Node& node, const schema::Registry& schemas) {
  return schemas.overloads(node.op()).empty() ? "no schema states the arguments of " + node.op()
                                              : "the types of the arguments fit no overload of " + node.op();
}

// An entry ends where an operator of its rows changes its meaning.
void state_stale(Outcome& outcome, const Lookup& found, const Context& context, int opset) {
  const auto entry = std::ranges::find(found.op->history, found.since, &mapping::Entry::opset);
  const auto& change = *context.table.meaning_change(*entry, opset);
  outcome.status = Status::missing;
  outcome.reason = "the entry for opset " + std::to_string(found.since) + " ends at opset " + std::to_string(change.to) +
                   ", where " + change.op + " changed its meaning (" + change.why + ")";
  outcome.hint = "say in the table what holds from opset " + std::to_string(change.to) + " on";
}

// `names`: joined by commas.
void state_unmapped(Outcome& outcome, const std::string& names) {
  const auto comma = names.find(',');
  const bool several = comma != std::string::npos;
  outcome.reason = "the row doesn't use argument" + std::string(several ? "s " : " ") + names;
  outcome.hint = "name " + std::string(several ? "each of them" : "it") +
                 " in `inputs`, `attributes` or `when`; {none: " + names.substr(0, comma) + "} at the end of `inputs` leaves " +
                 (several ? "one" : "it") + " out";
}

// Where a tensor among the arguments isn't known, no row could tell more.
bool knows_tensors(const symbolic::Call& call) {
  return std::ranges::all_of(call.node().inputs(), [&](const ir::Value* input) {
    const auto* tensor = call.facts().of(input).tensor();
    return !ir::is(input->type(), ir::TypeKind::tensor) || (tensor && tensor->dtype && tensor->shape);
  });
}

void refuse_unwritten(Outcome& outcome, const Row& row, const symbolic::Call& call, bool by_user) {
  refuse(outcome, &row, "no C++ handler writes the nodes of this operator's row");
  if (!by_user) return;
  const std::string argument = handlers::is_plain(row) ? handlers::unmapped_arguments(row, call) : std::string();
  if (argument.empty())
    outcome.reason = "the row lists several ONNX operators, but no C++ handler writes their nodes",
    outcome.hint = "write the nodes as ONNX text: `inline` instead of `to`";
  else
    state_unmapped(outcome, argument);
}

// Registered by libtorch, a known library, or one that --op-library loaded. For other operators, the schemas in force may
// contain one that was assumed from their calls.
bool is_shipped(const std::string& op, const ir::Program* program) {
  if (schema::Registry().contains(op)) return true;
  return program && states_schema_of(program->library_schemas, op);
}

// Whether torch.export left this Python construct in the program: no row helps, but PyTorch's own decompositions do.
bool state_left_by_export(Outcome& outcome) {
  const std::string_view op = outcome.node->op();
  const bool autocast = op.starts_with(ir::exported_ops::autocast);
  const bool of_python = op.starts_with(ir::exported_ops::higher_order) || op.starts_with(ir::exported_ops::python);
  if (!autocast && (!of_python || ir::exported_ops::wraps_unknown(op))) return false;
  outcome.reason = autocast ? "the file doesn't say to which dtype torch.autocast casts what this takes"
                            : "a function of Python, which torch.export left in the program";
  const ir::Constant* stated = outcome.node->attribute(ir::exported_ops::reason);
  if (const auto* text = stated ? stated->get<std::string>() : nullptr) outcome.reason = *text;
  outcome.hint = "call run_decompositions() on the program before torch.export.save" +
                 std::string(autocast ? ", or export it with strict=False" : ", which takes most of them apart");
  return true;
}

// The file passes an argument, or calls an overload, of PyTorch's operator that the schemas don't have: a row could name neither.
bool state_of_newer_torch(Outcome& outcome) {
  const std::string& op = outcome.node->op();
  const auto dot = op.find('.');
  if (dot == std::string::npos || !schema::Registry().contains(op.substr(0, dot))) return false;
  outcome.reason = "this version of compatcheck knows no such overload or argument of " + op.substr(0, dot);
  outcome.hint = "save the model with an older version of PyTorch, or update compatcheck";
  return true;
}

// A user's entry above the opset, which maps the operator; null if there is none.
const mapping::Entry* users_later_entry(const Lookup& found, int opset) {
  if (!found.op) return nullptr;
  const auto later = std::ranges::find_if(found.op->history, [&](const mapping::Entry& entry) {
    return entry.user && entry.opset > opset && std::ranges::find(entry.rows, Row::Kind::mapped, &Row::kind) != entry.rows.end();
  });
  return later == found.op->history.end() ? nullptr : &*later;
}

void state_missing(Outcome& outcome, const Lookup& found, const Context& context, int opset) {
  outcome.status = Status::missing;
  if (found.status == Lookup::Status::unknown) {
    if (state_left_by_export(outcome) || state_of_newer_torch(outcome)) return;
    outcome.unknown_operator = !is_shipped(outcome.node->op(), context.program);
    if (outcome.node->is("prim::PythonOp") && !outcome.node->overload().empty()) {
      outcome.unknown_operator = true;
      outcome.reason = "the Python function " + outcome.node->overload() + " has no row, and its code isn't in the model";
      return;
    }
    outcome.reason =
        outcome.unknown_operator ? "neither PyTorch nor torchvision defines this operator" : "no row maps this operator";
    return;
  }
  for (const Row& row : found.rows) {
    if (row.kind != Row::Kind::missing) continue;
    outcome.row = &row;
    outcome.reason = row.reason;
    outcome.hint = row.hint;
    break;
  }
  if (const mapping::Entry* later = users_later_entry(found, opset)) {
    outcome.reason = "your row for this operator holds only from opset " + std::to_string(later->opset);
    outcome.hint = "state it from a lower opset on (" + later->place.file + ":" + std::to_string(later->place.line) + ")";
    return;
  }
  if (!outcome.reason.empty()) return;
  outcome.reason = "no row maps this operator at opset " + std::to_string(opset);
}

// Why no value has facts; empty if one may.
std::string without_facts(const symbolic::Call& call) {
  for (const ir::Value* output : call.node().outputs())
    if (const std::string& reason = call.facts().of(output).impossible; !reason.empty()) return reason;
  return {};
}

// A node of an older opset's form must mean the same at the model's.
void refuse_other_meaning(Outcome& outcome, const mapping::Table& table, int opset, int form) {
  for (const mapping::OnnxChange& change : table.onnx_changes())
    if (change.change == mapping::Change::meaning && form < change.to && change.to <= opset &&
        std::ranges::find(outcome.emitted, change.op, &onnx::Emitted::op) != outcome.emitted.end())
      return refuse(outcome, nullptr, change.op + " has another meaning from opset " + std::to_string(change.to) + " on");
}

}  // namespace

void Attempter::take(Attempt& attempt, const Row& row, const symbolic::Call& call, At at) {
  Outcome& outcome = attempt.outcome;
  outcome.row = &row;
  switch (row.kind) {
    case Row::Kind::mapped: {
      const auto dtypes = symbolic::takes_dtypes(row, context_.table.complex_form(*outcome.rows), call);
      if (dtypes.truth != Truth::yes) {
        refuse(outcome, &row, dtypes.message);
        if (outcome.hint.empty() && context_.table.is_users(row.place))
          outcome.hint =
              "add `complex: true` to the row if its nodes take and give real and imaginary parts in a last dimension of 2";
        return;
      }
      if (auto contradiction = contradicted_facts(call, context_)) {
        if (contradiction->of_shape) {
          refuse(outcome, nullptr, std::move(contradiction->reason));
          outcome.hint = "state in the row how the result follows from the arguments (docs/mappings.md#facts)";
          return;
        }
        outcome.doubt = std::move(contradiction->reason);
      }
      outcome.status = Status::ok;
      return try_nodes(attempt, row, call, at);
    }
    case Row::Kind::refuse: return refuse(outcome, &row, row.reason);
    case Row::Kind::missing:
      outcome.status = Status::missing;
      outcome.reason = row.reason;
      outcome.hint = row.hint;
      return;
  }
}

void Attempter::try_nodes(Attempt& attempt, const Row& row, const symbolic::Call& call, At at) {
  Outcome& outcome = attempt.outcome;
  const RowEmitter emitter(call, row, *outcome.rows, context_, at.rows());
  onnx::OpsetRange& range = at.form ? attempt.forms : attempt.range;
  range = {std::max(range.from, emitter.opsets().from), std::min(range.to, emitter.opsets().to)};
  if (!call.node().schema()) return refuse(outcome, &row, without_schema(call.node(), context_.schemas));
  onnx::Model model = empty_model(context_, at.opset);
  onnx::Builder builder(model, context_.moved, attempt.range);
  if (at.form) builder.write_as(at.form, attempt.forms);
  TrialOperands operands(context_, lookups_, builder);
  const auto word = context_.table.facts(call.op(), call.node().overload(), context_.schemas);
  handlers::Emission emission(call, &row, word, builder,
                              [&](const ir::Value* value) -> const handlers::Operand& { return operands.of(value); });
  bool known = false;
  outcome.handled = emitter.exists();
  try {
    known = known_results(call, row, builder).has_value();
    if (!known && !emitter.exists()) return refuse_unwritten(outcome, row, call, context_.table.is_users(row.place));
    outcome.handled = true;
    if (!known) {
      emitter.emit(emission);
      known = gives_constants(model, emission);
    }
    outcome.emitted = builder.take_emitted();
    outcome.differences = builder.take_differences();
    drop_dead(outcome.emitted, model, emission);
  } catch (const onnx::Refusal& refusal) {
    refuse(outcome, &row, refusal.reason);
    if (!refusal.hint.empty()) outcome.hint = refusal.hint;
  } catch (const handlers::Wanting& wanting) {
    const bool no_facts = !wanting.verdict.blame || wanting.verdict.blame == &call.node();  // its facts aren't stated
    if (emitter.by_row_alone() && wanting.verdict.wants.empty() && no_facts && knows_tensors(call)) {
      refuse(outcome, &row, "its row alone isn't enough to write its nodes: " + wanting.verdict.message);
      if (call.node().outputs().size() > 1 && !word.empty() && !word.starts_with("["))
        outcome.hint = "`facts: " + std::string(word) +
                       "` in its row describes only the first result; write a list with one word for each result, [" +
                       std::string(word) + ", …], and ~ where no word fits";
      else if (word.empty() && context_.table.is_users(row.place))
        outcome.hint =
            "add `facts` to the row, such as `facts: same`: they say how the dtype and shape of a result follow from "
            "the arguments (docs/mappings.md#facts)";
    } else
      attempt.open = wanting.verdict;
  } catch (const symbolic::Impossible& arguments) {
    refuse_impossible(outcome, arguments.reason, context_.table);
  }
  attempt.range = builder.range();
  if (at.form) {
    attempt.forms = builder.form_range();
    if (outcome.status == Status::ok) refuse_other_meaning(outcome, context_.table, at.opset, *at.form);
  } else if (outcome.status == Status::ok && !attempt.open && !emitter.by_plugin()) {
    check_row(call, row, outcome.emitted, known, context_.table, at.opset);
  }
}

// Tries work that belongs to no row: a refusal is the graph's own.
template <class Work>
void Attempter::on_trial(Attempt& attempt, int opset, Work&& work) {
  onnx::Model model = empty_model(context_, opset);
  onnx::Builder builder(model, context_.moved, attempt.range);
  try {
    work(builder);
  } catch (const onnx::Refusal& refusal) {
    refuse(attempt.outcome, nullptr, refusal.reason);
    attempt.outcome.hint = refusal.hint;
  } catch (const handlers::Wanting& wanting) {
    attempt.open = wanting.verdict;
  }
  attempt.range = builder.range();
}

// Values that leave an If or that a Loop carries need the form of an ONNX value, so their parts must be known.
void Attempter::try_control(Attempt& attempt, int opset) {
  const ir::Node& node = *attempt.outcome.node;
  std::vector<ir::DType> dtypes;
  std::vector<bool> sequences;
  const auto take = [&](ir::DType dtype, bool sequence) {
    dtypes.push_back(dtype);
    sequences.push_back(sequence);
    return onnx::Value{1, dtype, sequence};
  };
  on_trial(attempt, opset, [&](onnx::Builder& builder) {
    demand_depth(node);
    demand_one_dtype(node, context_.facts);
    demand_value(node, context_.facts);
    std::vector<handlers::Operand> forms;
    for (const ir::Value* output : node.outputs())
      forms.push_back(handlers::operand_of(context_.facts.of(output), output->type(), take));
    for (std::size_t i = 0; node.is("prim::Loop") && i < forms.size(); ++i)
      if (passes::is_stacked(node, i) && std::holds_alternative<handlers::Quantized>(forms[i].value)) {
        const ir::Quantizer* every = symbolic::known_quantizer(context_.facts.of(node.output(i)));
        if (!every || every->per_channel)
          throw onnx::Refusal{"a Loop stacks no quantized tensors whose scales differ or aren't known",
                              "dequantize them before they are stacked"};
      }
    if (node.is("prim::If") && !builder.at_least(11)) demand_one_shape(node, context_.facts);
    if (node.is("prim::If") && !builder.at_least(13)) demand_ranks(node, context_.facts);
    builder.control(node.is("prim::If") ? "If" : "Loop", {}, {}, dtypes, sequences);
    TrialOperands operands(context_, lookups_, builder);
    const auto carry = [&](const ir::Value* value, const handlers::Operand& form) {
      onnx::Values values;
      if (const handlers::Operand* given = operands.if_known(value)) handlers::spill(*given, form, builder, values);
    };
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (node.is("prim::Loop"))
        carry(ir::LoopView(node).initial_values()[i], forms[i]), carry(ir::LoopView(node).next_values()[i], forms[i]);
      else
        for (const ir::Block* block : node.blocks()) carry(block->outputs()[i], forms[i]);
    }
  });
}

void Attempter::try_unpack(Attempt& attempt, int opset) {
  const ir::Node& node = *attempt.outcome.node;
  on_trial(attempt, opset, [&](onnx::Builder& builder) {
    TrialOperands operands(context_, lookups_, builder);
    if (const handlers::Operand* list = operands.if_known(node.input(0))) unpacked(*list, node.outputs().size(), builder);
  });
}

void Attempter::try_interface(Attempt& attempt, int opset) {
  attempt.outcome.structural = true;
  attempt.outcome.status = Status::ok;
  on_trial(attempt, opset, [&](onnx::Builder& builder) {
    TrialOperands operands(context_, lookups_, builder, context_.export_type != ExportType::onnx);
    if (const auto text = text_output(graph_))
      throw onnx::Refusal{"the model returns a text (" + *text + "), but an ONNX model can only return tensors",
                          "return tensors only, and choose the text outside of the model"};
    declare_inputs(graph_, context_, builder);
    const auto outputs = collect_outputs(graph_, context_, builder,
                                         [&](const ir::Value* value) -> const handlers::Operand& { return operands.of(value); });
    for (const Output& output : outputs)
      if (output.open) attempt.outcome.open_outputs.push_back({output.name, output.open});
    attempt.outcome.interface = interface_of(builder.model(), outputs);
  });
}

void Attempter::try_structural(Attempt& attempt, const mapping::Listed& listed, int opset) {
  attempt.outcome.structural = true;
  if (attempt.outcome.node->is("prim::If") || attempt.outcome.node->is("prim::Loop")) return try_control(attempt, opset);
  auto verdict = dissolves(*attempt.outcome.node, listed, context_);
  if (verdict.truth == Truth::no) {
    refuse(attempt.outcome, nullptr, verdict.message);
    if (is_call(*attempt.outcome.node) && !context_.program)
      attempt.outcome.hint = "check the model's file instead: the text of a graph lacks the functions that it calls";
    return;
  }
  if (verdict.truth == Truth::unknown)
    attempt.open = std::move(verdict);
  else if (const ir::Node& node = *attempt.outcome.node; node.is("prim::ListUnpack") || node.is("prim::TupleUnpack"))
    try_unpack(attempt, opset);
}

// Why PyTorch refuses the call; empty if it may not.
std::string Attempter::impossibility(const Lookup& found, const symbolic::Call& call) const {
  const auto word = context_.table.facts(call.op(), call.node().overload(), context_.schemas);
  const auto accepted = symbolic::accepts(context_.table.valid(*found.op), word, call, context_.registry, context_.schemas);
  return accepted.truth == Truth::no ? accepted.message : without_facts(call);
}

// Tries the first row that applies; if none does, reports the obstacle of the first mapped one.
void Attempter::try_rows(Attempt& attempt, const Lookup& found, const symbolic::Call& call, At at) {
  Outcome& outcome = attempt.outcome;
  std::string broken;
  if (!fits_some_overload(call.node(), context_.schemas))
    return refuse_misfit(outcome, "the arguments fit no overload of " + call.node().op());
  if (const auto reason = impossibility(found, call); !reason.empty()) return refuse_impossible(outcome, reason, context_.table);
  for (const Row& row : found.rows) {
    if (row.complex && !symbolic::has_complex(call)) continue;
    if (looks_for_bool(call.node())) return refuse_bool_keys(outcome);
    if (!call.node().schema() && (!row.when.empty() || !row.required.empty()))
      return refuse(outcome, &row, without_schema(call.node(), context_.schemas));
    auto verdict = symbolic::applies(row, call, context_.registry, context_.schemas);
    if (verdict.truth == Truth::yes) return take(attempt, row, call, at);
    if (verdict.truth == Truth::unknown) {
      outcome.row = &row;
      attempt.open = std::move(verdict);
      return;
    }
    if (row.kind == Row::Kind::mapped && broken.empty()) {
      broken = verdict.message;
      outcome.row = &row;
    }
  }
  refuse(outcome, outcome.row, broken);
}

// A user's row may hand our own code a call that it isn't written for. A fault under a shipped row is a defect of ours.
void Attempter::try_fitting(Attempt& attempt, const Lookup& found, const symbolic::Call& call, At at) {
  const auto misfit = [&](const std::string& reason) {
    attempt.open.reset();
    refuse_misfit(attempt.outcome, reason);
    attempt.range = {at.opset, at.opset};
  };
  try {
    try_rows(attempt, found, call, at);
  } catch (const DefectOfCall&) {  // the defect is in the call that makes an operand
    throw;
  } catch (const std::length_error& error) {
    misfit(error.what());
  } catch (const std::exception& error) {
    if (!found.user || !is_defect(error)) throw;
    misfit(std::string("its row doesn't fit this call: ") + error.what());
  }
}

Attempt Attempter::attempt(const ir::Node& node, int opset) {
  return reporting_defects(node, opset, [&] { return attempt_call(node, opset, {}); });
}

Attempt Attempter::attempt_form(const ir::Node& node, int opset, int form) {
  return reporting_defects(node, opset, [&] { return attempt_call(node, opset, form); });
}

Attempt Attempter::attempt_foreign(const ir::Node& node, int opset) {
  return reporting_defects(node, opset, [&] { return attempt_foreign_call(node, opset); });
}

Attempt Attempter::attempt_call(const ir::Node& node, int opset, std::optional<int> form) {
  Attempt attempt{.outcome = {}, .open = {}, .range = {mapping::lowest_opset, mapping::highest_opset}};
  Outcome& outcome = attempt.outcome;
  outcome.node = &node;
  if (const auto write = context_.unresolved_writes.find(&node); write != context_.unresolved_writes.end()) {
    outcome.unresolved_write = true;
    outcome.structural = context_.table.find_structural(node.op()) != nullptr;
    refuse(outcome, nullptr, write->second);
    return attempt;
  }
  if (&node == graph_.top()->return_node()) {
    attempt.range = {mapping::lowest_opset, mapping::highest_opset};
    try_interface(attempt, opset);
    return attempt;
  }
  const Lookup& found = lookups_.find(node, form.value_or(opset));
  attempt.range = form ? onnx::OpsetRange{opset, opset} : lookups_.range(node, opset);
  if (form) attempt.forms = lookups_.range(node, *form);
  outcome.rows = found.op;
  outcome.since = found.since;
  switch (found.status) {
    case Lookup::Status::structural: try_structural(attempt, *found.listed, opset); break;
    case Lookup::Status::rows: try_fitting(attempt, found, symbolic::Call(node, context_.facts), {opset, form}); break;
    case Lookup::Status::stale: state_stale(outcome, found, context_, opset); break;
    case Lookup::Status::missing:
    case Lookup::Status::unknown:
      attempt.range = {opset, opset};  // the reason names it
      // No other opset would help where PyTorch refuses the call.
      if (const auto reason = found.op ? impossibility(found, symbolic::Call(node, context_.facts)) : ""; !reason.empty())
        refuse_impossible(outcome, reason, context_.table);
      else
        state_missing(outcome, found, context_, opset);
      break;
  }
  return attempt;
}

// The call as PyTorch's operator.
Attempt Attempter::attempt_foreign_call(const ir::Node& node, int opset) {
  Attempt attempt{.outcome = {}, .open = {}, .range = {mapping::lowest_opset, mapping::highest_opset}};
  attempt.outcome.node = &node;
  attempt.outcome.status = Status::ok;
  on_trial(attempt, opset, [&](onnx::Builder& builder) {
    if (context_.export_type == ExportType::raw) {
      demand_raw(node);
      attempt.outcome.emitted = {{.op = foreign_name(node, ExportType::raw)}};
      return;
    }
    TrialOperands operands(context_, lookups_, builder, true);
    write_foreign(node, context_, builder,
                  [&](const ir::Value* value) -> const handlers::Operand& { return operands.of(value); });
    attempt.outcome.emitted = builder.take_emitted();
  });
  return attempt;
}

}  // namespace compatcheck::conversion

#include "analysis/advice.h"

#include <algorithm>
#include <cctype>

#include "analysis/container_advice.h"
#include "analysis/scaffold.h"
#include "analysis/state_advice.h"
#include "compatcheck/check.h"
#include "frontend/pt2/hidden_writes.h"
#include "handlers/operand.h"
#include "passes/effects.h"
#include "passes/state.h"
#include "symbolic/condition.h"

namespace compatcheck::analysis {
namespace {

using conversion::Outcome;

bool names(std::string_view text, std::string_view name) {
  const auto is_letter = [&](std::size_t at) { return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])); };
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1))
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + name.size())) return true;
  return false;
}

// The ONNX nodes of the call at the opset that helps: "GridSample", "Unique, Min, Where and 11 more". Nodes that the reason names
// come first, then nodes that this opset lacks.
std::string onnx_there(const Outcome& outcome, int opset) {
  constexpr std::size_t most_whole = 6, named = 3;
  const mapping::Row* row = outcome.row_there;
  if (!row || row->kind != mapping::Row::Kind::mapped) return {};
  if (row->to.size() <= most_whole) return mapping::joined(row->to);
  std::vector<std::string> shown = row->to;
  std::ranges::stable_partition(shown, [&](const std::string& name) { return !onnx::find(name, opset); });
  std::ranges::stable_partition(shown, [&](const std::string& name) { return names(outcome.reason, name); });
  shown.resize(named);
  return mapping::joined(shown) + " and " + std::to_string(row->to.size() - named) + " more";
}

// Overloads that aren't `out=` forms of others.
bool has_several_forms(const ir::Node& node, const conversion::Context& context) {
  return std::ranges::count_if(context.schemas.overloads(node.op()),
                               [](const schema::Schema* schema) { return !schema->is_out(); }) > 1;
}

// The text of a graph may state the results of a call; a guess in the row would override it.
bool says_results(const ir::Node& node) {
  return std::ranges::all_of(node.outputs(), [](const ir::Value* output) {
    const auto& type = output->type();
    return type && type->kind == ir::TypeKind::tensor && type->tensor.dtype && type->tensor.sizes;
  });
}

bool has_kind(const ir::TypeRef& type, std::initializer_list<ir::TypeKind> kinds) {
  if (!type) return false;
  return std::ranges::find(kinds, type->kind) != kinds.end() ||
         std::ranges::any_of(type->elements, [&](const ir::TypeRef& inner) { return has_kind(inner, kinds); });
}

bool handles_list(const ir::Node& node) {
  const auto is_list = [](const ir::Value* value) { return ir::is(value->type(), ir::TypeKind::list); };
  return std::ranges::any_of(node.inputs(), is_list) || std::ranges::any_of(node.outputs(), is_list);
}

bool is_list_of_lists(const ir::TypeRef& type) {
  return ir::is(type, ir::TypeKind::list) && ir::is(type->elements.front(), ir::TypeKind::list);
}

}  // namespace

std::string without_opset(const std::string& hint) {
  constexpr std::string_view lead = "use opset ";
  if (!hint.starts_with(lead)) return hint;
  const auto rest = hint.find_first_not_of("0123456789", lead.size());
  if (rest == std::string::npos) return {};
  constexpr std::string_view otherwise = ", or ";
  return hint.compare(rest, otherwise.size(), otherwise) == 0 ? hint.substr(rest + otherwise.size()) : hint;
}

bool is_beyond_rows(const ir::Node& node) {
  if (node.is("prim::PythonOp")) return false;
  if (node.op().starts_with("prim::") || node.op().find('.') != std::string::npos || !node.blocks().empty()) return true;
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
                    const conversion::Context& context, std::optional<int> inlined) {
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
                                           .onnx = counterpart,
                                           .inlined = counterpart ? std::nullopt : inlined});
}

namespace {

constexpr std::string_view save_row = "save this row in a file";

// The row itself follows.
std::string advise_row(const std::string& row, std::string_view also = {}) {
  std::string text(save_row);
  if (row.find("inline: ") != std::string::npos)
    return text.append(", for TODO write ONNX operators that compute it, which an engine runs, and add --mappings FILE")
               .append(also) +
           ":";
  const bool facts = row.find(facts_to_fill) != std::string::npos, domain = row.find("your.domain") != std::string::npos;
  if (facts) text += ", for TODO write `same`, `pointwise`, … (docs/mappings.md#facts)";
  if (domain) text += ", replace your.domain";
  return text.append(facts || domain ? ", and add --mappings FILE" : " and add --mappings FILE").append(also) + ":";
}

}  // namespace

std::string help_of(const Outcome& outcome, std::string_view rule, const onnx::Schema* counterpart, const std::string& row,
                    const conversion::Context& context, int opset) {
  constexpr std::string_view beyond_rows = "keep this operator out of the model: ONNX operators can't read or return such values";
  if (rule == "CC003") {
    if (row.empty()) return std::string(beyond_rows) + ", so no row can map it";
    return advise_row(row,
                      outcome.node->is("prim::PythonOp") ? "" : " (verify also needs --op-library LIB.so or --op-module MODULE)");
  }
  if (rule == "CC011") return "ONNX has " + std::string(counterpart->name) + ": " + advise_row(row);
  if (outcome.available_from) {
    const std::string onnx = onnx_there(outcome, opset), hint = without_opset(outcome.hint);
    return "--opset " + std::to_string(*outcome.available_from) + (onnx.empty() ? "" : " (" + onnx + ")") +
           (hint.empty() ? "" : ", or " + hint);
  }
  if (rule == "CC001") {
    const std::string& overload = outcome.node->overload();
    const std::string name =
        outcome.node->op() + (overload.empty() || !has_several_forms(*outcome.node, context) ? "" : "." + overload);
    if (is_beyond_rows(*outcome.node)) return outcome.hint.empty() ? std::string(beyond_rows) : outcome.hint;
    if (outcome.rows && std::ranges::any_of(outcome.rows->history, &mapping::Entry::user) && !outcome.hint.empty())
      return outcome.hint;
    // `explain` needs the library to know operators that it registers, and a report doesn't name the file.
    static const schema::Registry shipped;
    if (!shipped.contains(outcome.node->op()))
      return outcome.hint.empty()
                 ? advise_row(row)
                 : outcome.hint + "; or map it to an operator of your own ONNX domain in a row (--mappings FILE)";
    const std::string scaffold = "`compatcheck explain " + name + " --scaffold yaml" +
                                 (opset == default_opset ? "" : " --opset " + std::to_string(opset)) + "` prints ";
    return outcome.hint.empty() ? scaffold + "rows to start from; or " + advise_row(row)
                                : outcome.hint + "; or map it to an operator of your own ONNX domain: " + scaffold + "a row";
  }
  if (!outcome.hint.empty()) return outcome.hint;
  if (rule == "CC007" && outcome.node->is("prim::SetAttr")) return std::string(without_state);
  if (outcome.node->is("prim::Return") && outcome.reason.starts_with("ONNX has no value for a Dict"))
    return "return the dictionary in one place of the function, or return its tensors as a tuple";
  if (outcome.reason.starts_with(handlers::unknown_tensor_dtype) && handles_list(*outcome.node))
    return "if the tensors of the list have different dtypes, give them one, for example by .to(torch.float32)";
  if (rule != "CC007") return {};
  if (outcome.node->attribute(passes::state_obstacle)) return std::string(without_state);
  if (const std::string advice = outcome.node->inputs().empty() ? "" : advice_for_writes_to(*outcome.node->input(0));
      !advice.empty())
    return advice;
  const auto is_written_tensor = [&](std::size_t i) {
    return !outcome.node->input(i)->type() || ir::is(outcome.node->input(i)->type(), ir::TypeKind::tensor);
  };
  const std::string out_of_place = "compute a new value instead of writing in place (y = y + 1)";
  return std::ranges::any_of(passes::written_operands(*outcome.node), is_written_tensor)
             ? out_of_place + ", or write to a copy (x.clone())"
             : out_of_place;
}

bool is_for_training(const ir::Node& node) {
  return node.op().find("dropout") != std::string::npos || node.op().find("rrelu") != std::string::npos ||
         node.op().find("attention") != std::string::npos;
}

bool normalizes_as_in_training(const ir::Node& node) {
  if (node.attribute(frontend::pt2::batch_statistics_mark)) return true;
  if (!node.schema()) return false;
  const auto argument = [&](std::string_view name) -> const ir::Value* {
    const auto at = node.schema()->argument_index(name);
    return at && *at < node.inputs().size() ? node.input(*at) : nullptr;
  };
  const ir::Value* running = argument("running_mean");
  if (!running) return false;
  const ir::Constant* mean = ir::constant_of(running);
  if (mean && mean->is_none()) return false;  // there are none: evaluation mode takes the batch's, too
  for (const char* name : {"training", "use_input_stats"})
    if (const ir::Value* mode = argument(name)) {
      const ir::Constant* on = ir::constant_of(mode);
      return on && on->get<bool>() && *on->get<bool>();
    }
  return node.op().find("with_update") != std::string::npos;
}

// A scripted module's own `training` is read as False, so that only the call itself can request training mode. A trace contains
// the value of `training` when it was made.
std::string stop_training(const ir::Program* program) {
  const std::string in_code = "pass training=self.training instead (for dropout_p: 0.0 unless self.training)";
  if (program && !program->traced)
    return "the code asks for training mode in this call, and model.eval() doesn't change that: " + in_code +
           ", and save the model again";
  return "call model.eval() before tracing or exporting, and save the model again; if the code itself asks for training mode "
         "here, " +
         in_code;
}

void put_into_one_file(Finding& finding) {
  if (const auto at = finding.help.find(save_row); at != std::string::npos)
    finding.help.replace(at, save_row.size(), "save this row with the other rows in one file");
}

}  // namespace compatcheck::analysis

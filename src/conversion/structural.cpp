#include "conversion/structural.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/control_flow.h"
#include "passes/state.h"
#include "symbolic/condition.h"

namespace compatcheck::conversion {
namespace {

using mapping::Structure;
using symbolic::Truth;
using symbolic::Verdict;

// Whether any node that isn't dropped needs the value.
bool is_needed(const ir::Value* value, const mapping::Table& table) {
  const auto uses = value->uses();
  return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
    const auto* listed = table.find_structural(use.user->op());
    if (!listed || listed->structure == Structure::resolved) return true;
    if (listed->structure == Structure::dropped) return false;
    const auto outputs = use.user->outputs();
    return std::any_of(outputs.begin(), outputs.end(), [&](const ir::Value* output) { return is_needed(output, table); });
  });
}

// The verdict waits for the inputs that decide the node's result: the dtype and shape of a tensor, or whether there is one.
Verdict wanting(const ir::Node& node, std::string message, const symbolic::FactTable& facts) {
  Verdict verdict{.truth = Truth::unknown, .message = std::move(message)};
  const auto model_inputs = node.graph()->inputs();
  for (const ir::Value* input : node.inputs()) {
    const auto& source = facts.of(input);
    for (const std::uint32_t index : source.wants)
      if (ir::may_hold_tensors(model_inputs[index]->type())) verdict.wants.push_back(index);
    if (!verdict.blame) verdict.blame = source.blame;
  }
  std::ranges::sort(verdict.wants);
  verdict.wants.erase(std::ranges::unique(verdict.wants).begin(), verdict.wants.end());
  return verdict;
}

Verdict results_are_known(const ir::Node& node, const Context& context) {
  for (const ir::Value* output : node.outputs()) {
    if (symbolic::is_constant(context.facts.of(output)) || !is_needed(output, context.table)) continue;
    std::string message = "the result of " + node.op() + " must be known while converting, and isn't";
    if (ir::is(output->type(), ir::TypeKind::string)) return {.truth = Truth::no, .message = std::move(message)};
    return wanting(node, std::move(message), context.facts);
  }
  return {.truth = Truth::yes};
}

// ---- Attributes

// Parameters and buffers become initializers.
bool holds_only_tensors(const ir::TypeRef& type) {
  if (!type || type->kind == ir::TypeKind::tensor) return true;
  const bool wraps =
      type->kind == ir::TypeKind::optional || type->kind == ir::TypeKind::list || type->kind == ir::TypeKind::tuple;
  return wraps && !type->elements.empty() && std::all_of(type->elements.begin(), type->elements.end(), holds_only_tensors);
}

// Into a result of the whole graph, perhaps through branches, lists and tuples.
bool is_returned(const ir::Value* value) {
  const auto any_returned = [](std::span<ir::Value* const> values) {
    return std::any_of(values.begin(), values.end(), is_returned);
  };
  const auto uses = value->uses();
  return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
    const ir::Node& user = *use.user;
    if (&user != user.owner()->return_node())
      return (user.op().ends_with("Construct") || user.op().ends_with("cast")) && any_returned(user.outputs());
    if (!user.owner()->owner()) return true;
    const ir::Value* result = ir::returned_as(use);
    return result && is_returned(result);
  });
}

std::string_view attribute_name(const ir::Node& node) {
  const ir::Constant* given = node.attribute("name");
  const auto* text = given ? given->get<std::string>() : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

// The write itself is refused, and reported.
bool is_written(std::string_view attribute, const Context& context) {
  return std::any_of(context.unresolved_writes.begin(), context.unresolved_writes.end(), [&](const auto& write) {
    return write.first->is("prim::SetAttr") && attribute_name(*write.first) == attribute;
  });
}

// The graph's input that the object is, or a part of.
std::optional<std::uint32_t> input_with(const ir::Value* object) {
  while (const ir::Node* producer = object->producer()) {
    if (!producer->is("prim::GetAttr")) return std::nullopt;
    object = producer->input(0);
  }
  const ir::Block& block = *object->block();
  const auto at = std::ranges::find(block.inputs(), object);
  if (block.owner() || at == block.inputs().end()) return std::nullopt;
  return static_cast<std::uint32_t>(at - block.inputs().begin());
}

// A graph given as text holds no attributes of the model, which is its first input: of numbers and objects the model's file will
// say the value, and the rows of the operators that take them have judged without it. The graph of a file has no such input.
Verdict attribute_is_known(const ir::Node& node, const Context& context) {
  const ir::Value *object = node.input(0), *attribute = node.output();
  const auto no = [&](const std::string& why) {
    return Verdict{.truth = Truth::no, .message = "the attribute `" + std::string(attribute_name(node)) + "`" + why};
  };
  if (!is_needed(attribute, context.table) || is_written(attribute_name(node), context)) return {.truth = Truth::yes};
  if (object->producer() && object->producer()->is("prim::CreateObject"))
    return no(" is of an object that is made while the model runs");
  const auto input = input_with(object);
  if (input && (*input > 0 || context.program)) return {.message = "the members of an object aren't known", .wants = {*input}};
  if (holds_only_tensors(attribute->type())) return {.truth = Truth::yes};
  if (const ir::Constant* why = node.attribute(passes::state_obstacle))
    return {.truth = Truth::no, .message = *why->get<std::string>()};
  const bool known_object = !std::holds_alternative<std::monostate>(context.facts.of(object).value);
  if (known_object && ir::is(ir::without_optional(attribute->type()), ir::TypeKind::dict))
    return no(" is a dictionary that calls of the model change: which keys it holds isn't known while converting");
  if (known_object) return no(" isn't known while converting: its content can't be read");
  if (!input) return no(" is of an object that isn't known while converting");
  if (is_returned(attribute)) return no(" is returned, and its value isn't known while converting");
  return {.truth = Truth::yes};
}

}  // namespace

// Normalising inlines every call that it can see through; text of a graph may hold calls whose code isn't there.
bool is_call(const ir::Node& node) {
  return node.is("prim::CallMethod") || node.is("prim::CallFunction") || node.is("prim::fork");
}

Verdict keys_are_known(const ir::Node& node, const Context& context) {
  for (std::size_t i = 0; i + 1 < node.inputs().size(); i += 2)
    if (!symbolic::is_constant(context.facts.of(node.input(i))))
      return {.truth = Truth::no, .message = "a dictionary's key is known only when the model runs"};
  return {.truth = Truth::yes};
}

Verdict dissolves(const ir::Node& node, const mapping::Listed& listed, const Context& context) {
  if (is_call(node)) return {.truth = Truth::no, .message = "what this call computes isn't known: the function can't be inlined"};
  if (node.is("prim::GetAttr")) return attribute_is_known(node, context);
  if (node.is("prim::DictConstruct")) return keys_are_known(node, context);
  if (listed.structure == Structure::known) return results_are_known(node, context);
  return {.truth = Truth::yes};
}

std::vector<handlers::Operand> unpacked(const handlers::Operand& given, std::size_t count, onnx::Builder& builder) {
  std::vector<handlers::Operand> members;
  if (const handlers::List* list = given.list()) {
    if (list->items.size() != count)
      throw onnx::Refusal{"a list of " + std::to_string(list->items.size()) + " is unpacked into " + std::to_string(count)};
    members.assign(list->items.begin(), list->items.end());
    return members;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const onnx::Value index = builder.integer(static_cast<std::int64_t>(i));
    if (const auto* sequence = std::get_if<handlers::Sequence>(&given.value))
      members.push_back({builder.node("SequenceAt", {sequence->value, index})});
    else if (const auto* vector = std::get_if<handlers::Vector>(&given.value))
      members.push_back({handlers::Number{builder.gather(vector->value, index, 0)}});
    else
      throw onnx::Refusal{"a value that is no list is unpacked"};
  }
  return members;
}

}  // namespace compatcheck::conversion

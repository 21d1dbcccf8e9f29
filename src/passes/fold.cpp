#include <algorithm>
#include <string_view>

#include "passes/alias.h"
#include "passes/effects.h"
#include "passes/evaluate.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/views.h"
#include "schema/traits.h"

namespace compatcheck::passes {
namespace {

// `None` stands for a value that is known only not to be one.
const ir::Constant something{ir::OpaqueConstant{}};

// Two containers with equal contents may have become one value.
bool may_be_merged(const ir::Value* value) {
  using enum ir::TypeKind;
  const ir::TypeRef& type = ir::without_optional(value->type());
  return ir::is(type, list) || ir::is(type, dict) || ir::is(type, tuple);
}

// Made by an operator that never hands on a tensor that it was given; views are new tensors on old memory.
bool is_new_tensor(const ir::Value* value) {
  const ir::Node* maker = value->producer();
  if (!maker || !maker->schema() || !ir::is(value->type(), ir::TypeKind::tensor)) return false;
  if (schema::has_trait(maker->op(), schema::Trait::view)) return !gives_its_argument(*maker);
  const auto& returns = maker->schema()->returns;
  return maker->outputs().size() == returns.size() && !is_undeclared_view(*maker) &&
         std::all_of(returns.begin(), returns.end(), [](const auto& result) { return result.alias_set.empty(); });
}

// Was there before the graph made anything.
bool is_given_tensor(const ir::Value* value) {
  if (!ir::is(value->type(), ir::TypeKind::tensor)) return false;
  return value->producer() ? value->producer()->is("prim::Constant") : !value->block()->owner();
}

// Two tensors that are never one object, nor are two inputs of an ONNX model.
bool are_apart(const ir::Value* a, const ir::Value* b) {
  if (a == b) return false;
  if (is_given_tensor(a) && is_given_tensor(b) && !a->producer() && !b->producer()) return true;
  const bool new_a = is_new_tensor(a), new_b = is_new_tensor(b);
  return (new_a || new_b) && (new_a || is_given_tensor(a)) && (new_b || is_given_tensor(b));
}

// Evaluates the operator on its inputs; nullopt unless enough of them are known.
std::optional<ir::Constant> result_of(const ir::Node& node) {
  if (!can_evaluate(node)) return std::nullopt;
  if (compares_identity(node) && node.input(0) == node.input(1) && !may_be_merged(node.input(0)))
    return ir::Constant{node.is("aten::__is__")};
  if (compares_identity(node) && are_apart(node.input(0), node.input(1))) return ir::Constant{node.is("aten::__isnot__")};
  std::vector<const ir::Constant*> arguments;
  // Types alone decide these two, whatever the value is.
  const bool by_type = compares_identity(node) || node.is("prim::isinstance");
  for (const ir::Value* input : node.inputs()) {
    const ir::Constant* constant = ir::constant_of(input);
    if (!constant && !by_type) return std::nullopt;
    arguments.push_back(constant ? constant : &something);
  }
  return evaluate(node, arguments);
}

// %s : Tensor = prim::NumToTensor(%n); aten::Int(%s): tracing writes numbers so.
ir::Value* number_behind(const ir::Node& node) {
  if (!node.is("aten::Int") && !node.is("aten::ScalarImplicit") && !node.is("aten::IntImplicit")) return nullptr;
  const ir::Node* tensor = node.input(0)->producer();
  if (!tensor || !tensor->is("prim::NumToTensor")) return nullptr;
  return ir::is(tensor->input(0)->type(), ir::TypeKind::integer) ? tensor->input(0) : nullptr;
}

// The operand that a bool operator gives, where the other one is known: loops with `continue` end with `again and True`.
ir::Value* deciding_operand(const ir::Node& node) {
  const bool both = node.is("aten::__and__");
  if ((!both && !node.is("aten::__or__")) || node.inputs().size() != 2) return nullptr;
  if (!std::ranges::all_of(node.inputs(), [](const ir::Value* i) { return ir::is(i->type(), ir::TypeKind::boolean); }))
    return nullptr;
  for (std::size_t i = 0; i < 2; ++i)
    if (const bool* one = known<bool>(node.input(i))) return node.input(*one == both ? 1 - i : i);
  return nullptr;
}

// Loading places every tensor on the CPU; ONNX knows no nested ones.
std::optional<ir::Constant> property_of_all(const ir::Node& node) {
  if (node.inputs().size() != 1) return std::nullopt;
  if (const auto* device = node.is("prim::type") ? known<ir::DeviceConstant>(node.input(0)) : nullptr)
    return ir::Constant{device->device.substr(0, device->device.find(':'))};
  if (!ir::is(node.input(0)->type(), ir::TypeKind::tensor)) return std::nullopt;
  if (node.is("prim::device")) return ir::Constant{ir::DeviceConstant{"cpu"}};
  if (node.is("prim::is_cuda")) return ir::Constant{false};
  if (node.is("prim::is_cpu")) return ir::Constant{true};
  if (node.is("prim::is_nested")) return ir::Constant{false};
  return std::nullopt;
}

}  // namespace

namespace {

// A list that is written later must stay one list.
bool list_changes(const ir::Node& node, const Aliases& aliases) {
  if (!aliases.any_writes()) return false;
  const auto inputs = node.inputs();
  return aliases.written(node.output()) ||
         std::any_of(inputs.begin(), inputs.end(), [&](const ir::Value* input) { return aliases.written(input); });
}

// Returns the node's output, if it is known.
std::optional<ir::Constant> known_result(const ir::Node& node, const KnownValue& from_elsewhere) {
  if (auto result = result_of(node)) return result;
  if (auto result = property_of_all(node)) return result;
  if (node.is("aten::__contains__") && node.inputs().size() == 2 && ir::constant_of(node.input(0)) &&
      is_empty_list(node.input(0)))
    return ir::Constant{false};
  return from_elsewhere ? from_elsewhere(*node.output()) : std::nullopt;
}

using Operands = std::vector<ir::Value*>;

std::size_t depth_of(const ir::Block* block) {
  std::size_t depth = 0;
  for (; block->parent(); block = block->parent()) ++depth;
  return depth;
}

// Whether `a` comes after `b`, of two nodes that both come before a third one.
bool comes_later(const ir::Node* a, const ir::Node* b) {
  if (a->owner() != b->owner()) return depth_of(a->owner()) > depth_of(b->owner());
  for (const ir::Node* node = b->next(); node; node = node->next())
    if (node == a) return true;
  return false;
}

// The last If that an operand comes from; null if all are constant, or one comes from elsewhere.
ir::Node* deciding_branch(const Operands& operands) {
  ir::Node* last = nullptr;
  for (const ir::Value* value : operands) {
    if (ir::constant_of(value)) continue;
    ir::Node* from = value->producer();
    if (!from || !from->is("prim::If")) return nullptr;
    if (!last || (from != last && comes_later(from, last))) last = from;
  }
  return last;
}

Operands operands_within(const Operands& operands, const ir::Node* branch, const ir::Block& way) {
  Operands within = operands;
  for (ir::Value*& value : within)
    if (value->producer() == branch) value = way.outputs()[value->index()];
  return within;
}

std::optional<ir::Constant> result_of(const ir::Node& node, const Operands& operands) {
  std::vector<const ir::Constant*> arguments;
  for (const ir::Value* value : operands) {
    arguments.push_back(ir::constant_of(value));
    if (!arguments.back()) return std::nullopt;
  }
  return evaluate(node, arguments);
}

// Whether every way through the branches leaves constants with a result.
bool is_known_each_way(const ir::Node& node, const Operands& operands, std::size_t& ways_left) {
  const ir::Node* branch = deciding_branch(operands);
  if (!branch) return ways_left-- > 0 && result_of(node, operands);
  return std::ranges::all_of(branch->blocks(), [&](const ir::Block* way) {
    return is_known_each_way(node, operands_within(operands, branch, *way), ways_left);
  });
}

ir::Value* result_each_way(const ir::Node& node, const Operands& operands, ir::Block* into) {
  ir::Node* branch = deciding_branch(operands);
  if (!branch) {
    ir::Node* constant = into->graph()->create_constant(*result_of(node, operands));
    into->append(constant);
    return constant->output();
  }
  for (ir::Block* way : branch->blocks()) way->add_output(result_each_way(node, operands_within(operands, branch, *way), way));
  return branch->add_output(node.output()->type());
}

// Makes the result a further output of branches, if the arguments are constant in each of their blocks: `mode == "sum"`, where
// mode is one of two texts.
ir::Value* result_by_branch(const ir::Node& node) {
  if (!can_evaluate(node) || holds_memory(node.output()->type())) return nullptr;
  const Operands operands(node.inputs().begin(), node.inputs().end());
  std::size_t ways_left = 64;
  if (!deciding_branch(operands) || !is_known_each_way(node, operands, ways_left)) return nullptr;
  return result_each_way(node, operands, nullptr);
}

// A read of an object that is never made never runs.
ir::Value* result_of_undefined(ir::Node* node) {
  const bool reads = node->is("prim::GetAttr") || node->is("prim::unchecked_cast");
  if (!reads || !is_undefined(node->input(0))) return nullptr;
  return node_before(node, "prim::Uninitialized", {}, output_types(*node))->output();
}

// Spends the budget for a large result. Values of usual size aren't counted.
bool affordable(const ir::Constant& result, Budget& budget) {
  constexpr std::size_t usual = 1024;
  const std::size_t bytes = ir::footprint(result);
  return bytes <= usual || spend(budget.folded, bytes);
}

// Without aliases only results that hold no memory are folded.
std::size_t fold(ir::Graph& graph, const Aliases* aliases, Budget& budget, const KnownValue& known, const ir::Watch& watch) {
  std::size_t folded = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (node->outputs().size() != 1 || node->is("prim::Constant") || node->output()->unused() || writes(*node)) continue;
    if (!aliases && holds_memory(node->output()->type())) continue;
    if (ir::Value* number = number_behind(*node)) {
      replace(node->output(), number);
    } else if (ir::Value* undefined = result_of_undefined(node)) {
      replace(node->output(), undefined);
    } else if (ir::Value* operand = deciding_operand(*node)) {
      replace(node->output(), operand);
    } else if (ir::Value* chosen = result_by_branch(*node)) {
      replace(node->output(), chosen);
    } else {
      auto result = known_result(*node, known);
      if (!result || (holds_memory(node->output()->type()) && list_changes(*node, *aliases)) || !affordable(*result, budget))
        continue;
      ir::TypeRef type = node->output()->type();
      if (result->is_none() || ir::is(type, ir::TypeKind::number) || ir::is(type, ir::TypeKind::optional))
        type = ir::type_of(*result);
      replace(node->output(), constant_before(node, std::move(*result), type));
    }
    if (node->blocks().empty()) node->erase();  // a node with blocks stays: the blocks may have effects
    ++folded;
  }
  return folded;
}

}  // namespace

std::size_t fold_numbers(ir::Graph& graph, Budget& budget, const ir::Watch& watch) {
  return fold(graph, nullptr, budget, {}, watch);
}

std::size_t fold_constants(ir::Graph& graph, const ir::Program* program, Budget& budget, const KnownValue& known,
                           const ir::Watch& watch) {
  return fold(graph, Aliases::of(graph, program, watch).get(), budget, known, watch);
}

}  // namespace compatcheck::passes

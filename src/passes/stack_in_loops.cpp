#include "passes/stack_in_loops.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "ir/control_flow.h"
#include "passes/effects.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// The tensor that each iteration appends to carried value `i`; null if the body does anything else with the list.
ir::Value* appended(const ir::LoopView& loop, std::size_t i) {
  const ir::Value *before = loop.parameters()[i], *after = loop.next_values()[i];
  const ir::Node* sum = after->producer();
  if (!ir::is_tensor_list(before->type()) || !sum || !sum->is("aten::add") || sum->owner() != &loop.body()) return nullptr;
  if (sum->input(0) != before || before->uses().size() != 1 || after->uses().size() != 1) return nullptr;
  const ir::Node* added = sum->input(1)->producer();
  if (!added || !added->is("prim::ListConstruct") || added->inputs().size() != 1) return nullptr;
  return ir::is(added->input(0)->type(), ir::TypeKind::tensor) ? added->input(0) : nullptr;
}

std::optional<std::int64_t> stacked_along(const ir::Use& use) {
  if (!use.user->is("aten::stack") || use.operand != 0) return std::nullopt;
  const auto* dim = known<std::int64_t>(use.user->input(1));
  return dim ? std::optional(*dim) : std::nullopt;
}

void replace_stack(ir::Node* stack, ir::Value* stacked, std::int64_t dim) {
  ir::Value* result = stacked;
  if (dim == 0) {
    stacked->set_type(stack->output()->type());
  } else {
    const std::array inputs{stacked, constant_before(stack, {std::int64_t{0}}), stack->input(1)};
    ir::Node* moved = node_before(stack, "aten::movedim", inputs, std::array{stack->output()->type()});
    moved->set_overload("int");
    result = moved->output();
  }
  replace(stack->output(), result);
  stack->erase();
}

// The length is the size of the first dimension.
void replace_length(ir::Node* length, ir::Value* stacked) {
  const std::array inputs{stacked, constant_before(length, {std::int64_t{0}})};
  ir::Node* size = node_before(length, "aten::size", inputs, std::array{length->output()->type()});
  size->set_overload("int");
  replace(length->output(), size->output());
  length->erase();
}

bool stack(ir::Node* node, std::size_t i) {
  const ir::LoopView loop(*node);
  ir::Value* list = node->output(i);
  ir::Value* item = appended(loop, i);
  const auto stacks = [](const ir::Use& use) { return stacked_along(use).has_value(); };
  const auto reads = [&](const ir::Use& use) { return stacks(use) || use.user->is("aten::len"); };
  if (!item || !is_empty_list(loop.initial_values()[i]) || !std::ranges::all_of(list->uses(), reads) ||
      std::ranges::none_of(list->uses(), stacks))
    return false;
  const ir::TypeRef tensor = ir::tensor_type();
  loop.set_initial_value(i, node_before(node, "prim::Uninitialized", {}, std::array{tensor})->output());
  ir::Value* parameter = loop.parameters()[i];
  ir::Node* sum = loop.next_values()[i]->producer();
  loop.set_next_value(i, node_before(sum, std::string(stack_append), std::array{parameter, item}, std::array{tensor})->output());
  ir::Node* made = sum->input(1)->producer();
  sum->erase();
  if (made->output()->unused()) made->erase();
  parameter->set_type(tensor);
  list->set_type(tensor);
  const std::vector<ir::Use> uses(list->uses().begin(), list->uses().end());
  for (const ir::Use& use : uses)
    if (const auto dim = stacked_along(use))
      replace_stack(use.user, list, *dim);
    else
      replace_length(use.user, list);
  return true;
}

}  // namespace

bool is_stacked(const ir::Node& node, std::size_t i) {
  const ir::LoopView loop(node);
  const ir::Node* maker = loop.next_values()[i]->producer();
  return maker && maker->is(stack_append) && maker->owner() == &loop.body() && maker->input(0) == loop.parameters()[i];
}

bool stacks_anything(const ir::Node& loop) {
  for (std::size_t i = 0; i < loop.outputs().size(); ++i)
    if (is_stacked(loop, i)) return true;
  return false;
}

std::size_t stack_in_loops(ir::Graph& graph, const schema::Registry& registry, const ir::Watch& watch) {
  if (writes_anything(*graph.top())) return 0;
  std::size_t stacked = 0;
  for (ir::Node* node : all_nodes_backwards(graph, watch)) {
    if (!node->is("prim::Loop")) continue;
    for (std::size_t i = 0; i < node->outputs().size(); ++i) stacked += stack(node, i) ? 1 : 0;
  }
  if (stacked > 0) schema::resolve(graph, registry);
  return stacked;
}

}  // namespace compatcheck::passes

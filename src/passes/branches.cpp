#include <unordered_set>
#include <utility>

#include "ir/control_flow.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// The value that output `i` has whichever way the branch goes; null if there is none outside the branch.
ir::Value* common_value(ir::Node* branch, std::size_t i) {
  ir::Value *a = ir::IfView(*branch).then_values()[i], *b = ir::IfView(*branch).else_values()[i];
  // An undefined value is never read after its block ran.
  if (is_undefined(a)) a = b;
  if (is_undefined(b)) b = a;
  if (a == b && available_in(a, branch->owner())) return a;
  const ir::Constant* left = ir::constant_of(a);
  const ir::Constant* right = ir::constant_of(b);
  if (!left || !right || !ir::equal(*left, *right) || !ir::equal(*a->type(), *b->type())) return nullptr;
  return constant_before(branch, *left, a->type());
}

// If(c) -> True else False is c itself.
ir::Value* condition_itself(ir::Node* node, std::size_t i) {
  const ir::IfView branch(*node);
  const auto *yes = known<bool>(branch.then_values()[i]), *no = known<bool>(branch.else_values()[i]);
  if (!yes || !no || *yes == *no) return nullptr;
  ir::Value* condition = branch.condition();
  if (*yes) return condition;
  const ir::TypeRef type = ir::simple_type(ir::TypeKind::boolean);
  return node_before(node, "aten::__not__", {&condition, 1}, {&type, 1})->output();
}

// An earlier output that is the same whichever way the branch goes; null if there is none.
ir::Value* twin(const ir::Node* node, std::size_t i) {
  const auto yes = ir::IfView(*node).then_values(), no = ir::IfView(*node).else_values();
  for (std::size_t j = 0; j < i; ++j)
    if (yes[j] == yes[i] && no[j] == no[i] && ir::same_structure(*node->output(j)->type(), *node->output(i)->type()))
      return node->output(j);
  return nullptr;
}

// Returns the block around the use of an If on the same condition; null if there is none.
const ir::Block* deciding_block(const ir::Use& use, const ir::Value* condition) {
  for (const ir::Block* block = use.user->owner(); block && block->owner(); block = block->parent())
    if (block->owner()->is("prim::If") && ir::IfView(*block->owner()).condition() == condition && block->owner() != use.user)
      return block;
  return nullptr;
}

// `c` is known inside If(c).
std::size_t know_condition(ir::Value* condition) {
  std::vector<std::pair<ir::Use, const ir::Block*>> inside;
  for (const ir::Use& use : condition->uses())
    if (const ir::Block* block = deciding_block(use, condition)) inside.emplace_back(use, block);
  for (const auto& [use, block] : inside) {
    ir::Node* branch = block->owner();
    use.user->replace_input(use.operand, constant_before(branch, {block == &ir::IfView(*branch).then_block()}));
  }
  return inside.size();
}

}  // namespace

std::size_t prune_branches(ir::Graph& graph, const ir::Watch& watch) {
  std::size_t pruned = 0;
  std::unordered_set<const ir::Value*> conditions;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!node->is("prim::If") || node->inputs().empty()) continue;  // empty: went with an outer branch
    const ir::IfView branch(*node);
    if (const bool* condition = known<bool>(branch.condition())) {
      take_block(node, branch.block_if(*condition));
      ++pruned;
      continue;
    }
    if (conditions.insert(branch.condition()).second) pruned += know_condition(branch.condition());
    for (std::size_t i = node->outputs().size(); i-- > 0;) {
      ir::Value* same = node->output(i)->unused() ? nullptr : common_value(node, i);
      if (!same && !node->output(i)->unused()) same = condition_itself(node, i);
      if (!same && !node->output(i)->unused()) same = twin(node, i);
      if (!same) continue;
      replace(node->output(i), same);
      node->erase_output(i);
      for (ir::Block* block : node->blocks()) block->erase_output(i);
      ++pruned;
    }
  }
  return pruned;
}

}  // namespace compatcheck::passes

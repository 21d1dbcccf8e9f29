#include <unordered_set>
#include <utility>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// The value that output `i` has whichever way the branch goes; null if there is none outside the branch.
ir::Value* common_value(ir::Node* branch, std::size_t i) {
  ir::Value* a = branch->blocks()[0]->outputs()[i];
  ir::Value* b = branch->blocks()[1]->outputs()[i];
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
ir::Value* condition_itself(ir::Node* branch, std::size_t i) {
  const auto* yes = known<bool>(branch->blocks()[0]->outputs()[i]);
  const auto* no = known<bool>(branch->blocks()[1]->outputs()[i]);
  if (!yes || !no || *yes == *no) return nullptr;
  if (*yes) return branch->input(0);
  const ir::TypeRef type = ir::simple_type(ir::TypeKind::boolean);
  ir::Value* condition = branch->input(0);
  return node_before(branch, "aten::__not__", {&condition, 1}, {&type, 1})->output();
}

// An earlier output that is the same whichever way the branch goes; null if there is none.
ir::Value* twin(const ir::Node* branch, std::size_t i) {
  for (std::size_t j = 0; j < i; ++j)
    if (branch->blocks()[0]->outputs()[j] == branch->blocks()[0]->outputs()[i] &&
        branch->blocks()[1]->outputs()[j] == branch->blocks()[1]->outputs()[i] &&
        ir::same_structure(*branch->output(j)->type(), *branch->output(i)->type()))
      return branch->output(j);
  return nullptr;
}

// Returns the block around the use of an If on the same condition; null if there is none.
const ir::Block* deciding_block(const ir::Use& use, const ir::Value* condition) {
  for (const ir::Block* block = use.user->owner(); block && block->owner(); block = block->parent())
    if (block->owner()->is("prim::If") && block->owner()->input(0) == condition && block->owner() != use.user) return block;
  return nullptr;
}

// `c` is known inside If(c).
std::size_t know_condition(ir::Value* condition) {
  std::vector<std::pair<ir::Use, const ir::Block*>> inside;
  for (const ir::Use& use : condition->uses())
    if (const ir::Block* block = deciding_block(use, condition)) inside.emplace_back(use, block);
  for (const auto& [use, block] : inside) {
    ir::Node* branch = block->owner();
    use.user->replace_input(use.operand, constant_before(branch, {block == branch->blocks()[0]}));
  }
  return inside.size();
}

}  // namespace

std::size_t prune_branches(ir::Graph& graph, const ir::Watch& watch) {
  std::size_t pruned = 0;
  std::unordered_set<const ir::Value*> conditions;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!node->is("prim::If") || node->inputs().empty()) continue;  // empty: went with an outer branch
    if (const bool* condition = known<bool>(node->input(0))) {
      take_block(node, *node->blocks()[*condition ? 0 : 1]);
      ++pruned;
      continue;
    }
    if (conditions.insert(node->input(0)).second) pruned += know_condition(node->input(0));
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

#include "passes/lifetimes.h"

#include <algorithm>

namespace compatcheck::passes {
namespace {

bool is_within(const ir::Block* inner, const ir::Block* outer) {
  while (inner && inner != outer) inner = inner->parent();
  return inner == outer;
}

bool is_loop_body(const ir::Block* block) { return block->owner() && !block->owner()->is("prim::If"); }

}  // namespace

std::ptrdiff_t Lifetimes::made(const ir::Value* value) const {
  const ir::Node* maker = value->producer();
  if (!maker) maker = value->block()->owner();
  if (!maker) return -1;
  if (value->producer() && !maker->blocks().empty()) maker = maker->blocks().back()->return_node();
  return place(maker);
}

std::ptrdiff_t Lifetimes::last_read(const ir::Value* value, const ir::Use& use) const {
  std::ptrdiff_t last = place(use.user);
  for (const ir::Block* block = use.user->owner(); block != value->block(); block = block->parent())
    if (is_loop_body(block)) last = place(block->return_node()) + 1;
  return last;
}

bool Lifetimes::reads_after(const ir::Value* value, const ir::Use& use, const ir::Node* write) const {
  return place(write) < last_read(value, use) && !exclude_each_other(use.user, write, value->block());
}

// The two stand in different blocks of one If, and nothing between the If and the block of `made` repeats it.
bool exclude_each_other(const ir::Node* a, const ir::Node* b, const ir::Block* made) {
  for (const ir::Block* x = a->owner(); x && x != made; x = x->parent()) {
    if (!x->owner() || !x->owner()->is("prim::If")) continue;
    for (const ir::Block* other : x->owner()->blocks()) {
      if (other == x || !encloses(other, *b)) continue;
      const ir::Block* around = x->parent();
      while (around && around != made && !is_loop_body(around)) around = around->parent();
      return around == made;
    }
  }
  return false;
}

bool Lifetimes::repeated_without(const ir::Node* a, const ir::Node* b, const ir::Block* made) {
  for (const ir::Block* block = a->owner(); block; block = block->parent())
    if (is_loop_body(block) && encloses(block, *b) && !is_within(made, block)) return true;
  return false;
}

bool encloses(const ir::Block* block, const ir::Node& node) { return is_within(node.owner(), block); }

}  // namespace compatcheck::passes

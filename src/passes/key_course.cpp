#include "passes/key_course.h"

#include <algorithm>
#include <utility>

#include "ir/control_flow.h"

namespace compatcheck::passes {
namespace {

constexpr std::size_t most_accesses = 256;  // the work grows with their square for each of them

}  // namespace

KeyCourse::KeyCourse(const ir::Graph& graph, IsDictionary is_dictionary, std::vector<ir::Node*> accesses,
                     std::vector<ir::Constant> initial, const ir::Block* block)
    : is_dictionary_(std::move(is_dictionary)),
      accesses_(std::move(accesses)),
      initial_(std::move(initial)),
      block_(block),
      order_(graph) {}

bool KeyCourse::begins_with(const ir::Constant& key) const {
  return std::ranges::any_of(initial_, [&](const ir::Constant& other) { return ir::equal(key, other); });
}

bool KeyCourse::sets(const ir::Block& block, const ir::Constant& key) const {
  for (const ir::Node* node : block)
    if (sets(*node, key)) return true;
  return false;
}

// Whichever way the node goes, the key is there behind it.
bool KeyCourse::sets(const ir::Node& node, const ir::Constant& key) const {
  if (sets(node) && ir::equal(key_of(node), key)) return true;
  if (!node.is("prim::If")) return false;
  const ir::Block* with = block_with(node, key);
  return std::ranges::all_of(node.blocks(), [&](const ir::Block* way) { return way == with || sets(*way, key); });
}

// The block of an If in which the key is present because the program has tested for it; null for other nodes.
const ir::Block* KeyCourse::block_with(const ir::Node& branch, const ir::Constant& key) const {
  const ir::Node* condition = branch.is("prim::If") ? ir::IfView(branch).condition()->producer() : nullptr;
  const bool negated = condition && condition->is("aten::__not__");
  if (negated) condition = condition->input(0)->producer();
  if (!condition || !condition->is("aten::__contains__") || !is_dictionary_(condition->input(0))) return nullptr;
  return implies(key_of(*condition), key, branch) ? &ir::IfView(branch).block_if(!negated) : nullptr;
}

// Whether the dictionary has `other` at `place` if it has `one`: the same blocks set both, and `place` doesn't stand between. No
// key is ever removed.
bool KeyCourse::implies(const ir::Constant& one, const ir::Constant& other, const ir::Node& place) const {
  if (ir::equal(one, other)) return true;
  if (begins_with(one) && !begins_with(other)) return false;
  const std::size_t at = *order_.of(&place);
  return std::ranges::all_of(accesses_, [&](const ir::Node* set) {
    if (!sets(*set) || !ir::equal(key_of(*set), one)) return true;
    return std::ranges::any_of(accesses_, [&](const ir::Node* too) {
      if (!sets(*too) || !ir::equal(key_of(*too), other) || too->owner() != set->owner()) return false;
      const std::size_t first = *order_.of(set), second = *order_.of(too);
      return at < std::min(first, second) || at > std::max(first, second);
    });
  });
}

bool KeyCourse::is_there(const ir::Node* access) const {
  const ir::Constant& key = key_of(*access);
  if (accesses_.size() > most_accesses) return false;
  if (std::ranges::any_of(accesses_, [](const ir::Node* node) { return removes(*node); })) return false;
  for (const ir::Node* node = access;;) {
    for (const ir::Node* before = node->previous(); before; before = before->previous())
      if (sets(*before, key)) return true;
    const ir::Block* block = node->owner();
    if (block == block_) return begins_with(key);
    node = block->owner();
    if (block == block_with(*node, key)) return true;
  }
}

}  // namespace compatcheck::passes

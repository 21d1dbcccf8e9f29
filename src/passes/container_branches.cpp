// Ifs whose condition isn't known: both blocks are walked, and values that differ afterwards become outputs of the If.
#include <algorithm>

#include "ir/control_flow.h"
#include "passes/container_joins.h"
#include "passes/lifetimes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

// Keeps what is made of the old contents, if nothing changed.
void ContainerWalk::set_state(CellId id, Cell cell) {
  const Cell& before = heap_.at(id);
  const bool unchanged = before.whole == cell.whole && before.untouched == cell.untouched &&
                         std::ranges::equal(before.items, cell.items, same) && same_keys(before.keys, cell.keys) &&
                         before.present == cell.present && before.unordered == cell.unordered &&
                         (!cell.whole || before.made == cell.made) && before.columns == cell.columns;
  if (unchanged && !cell.is_table()) return;  // the lists of a table may have changed
  cell.version = ++versions_;
  if (cell.layout && heap_.elements(id).empty()) heap_.add_elements(id, {heap_.new_identity()});
  heap_.change(id) = std::move(cell);
}

void ContainerWalk::branch(ir::Node* node) {
  const ir::IfView branch(*node);
  if (const bool* condition = known<bool>(branch.condition())) {
    ir::Block& taken = branch.block_if(*condition);
    if (taken.first()) next_ = taken.first();
    take_block(node, taken);
    ++changes_;
    return;
  }
  const std::size_t outputs = node->outputs().size();
  Join join{*this, node, heap_.size()};
  work(heap_.size() / 64);
  placements_ = join.walk_blocks();
  const bool ends = join.raises[0] && join.raises[1];
  for (std::size_t way = 0; way < Join::ways && !ends; ++way)
    if (join.raises[1 - way]) note_keys(branch.condition(), way == 0, node->owner());
  std::map<std::size_t, Abstract> results;
  for (std::size_t i = 0; i < outputs; ++i)
    join.outputs.try_emplace({branch.then_values()[i], branch.else_values()[i]}, node->output(i));
  for (std::size_t i = 0; i < outputs; ++i) {
    const Abstract a = look(branch.then_values()[i]), b = look(branch.else_values()[i]);
    const bool both_end = !join.raises[0] && !join.raises[1];
    const bool one_label = (is_label(a) && is_undefined_label(b)) || (is_undefined_label(a) && is_label(b));
    const bool none = !ends && (join.raises[0] || a.is_none()) && (join.raises[1] || b.is_none());
    if (none)
      results[i] = Abstract::of(constant_before(node, {}));
    else if (!a.followed() && !b.followed() && !(both_end && (one_label || join.joins_none(a, b) || join.joins_labels(a, b))))
      known_[node->output(i)] = Abstract::of(node->output(i));
    else
      results[i] = join.merge(join.raises[0] && !ends ? nullptr : &a, join.raises[1] && !ends ? nullptr : &b);
  }
  if (!ends) join.merge_heaps();
  settle_placements();
  for (auto result = results.rbegin(); result != results.rend(); ++result) {
    auto& [i, abstract] = *result;
    const bool stays =
        abstract.cell ? heap_.at(*abstract.cell).made == node->output(i) : !abstract.parts && abstract.value == node->output(i);
    if (stays) {
      know(node->output(i), std::move(abstract));
      continue;
    }
    ++changes_;
    stand_for(node->output(i), std::move(abstract), node);
    if (join.given.contains(node->output(i))) continue;
    for (ir::Block* block : node->blocks()) block->erase_output(i);
    node->erase_output(i);
  }
}

// An If whose ways do nothing but give.
ir::Node* ContainerWalk::empty_branch(ir::Value* condition, ir::Node* place, Site site) {
  ir::Node* node = node_before(place, "prim::If", {&condition, 1}, {});
  labels_[node] = site;
  for (std::size_t way = 0; way < Join::ways; ++way) done_.insert(node->add_block()->return_node());
  done_.insert(node);
  return node;
}

// Writes the contents of `from` to `to` as well, where they are one object.
void ContainerWalk::select(ir::Value* same, CellId from, CellId to, ir::Node* place, Site site) {
  work(1 + heap_.at(to).items.size());
  Join join{*this, empty_branch(same, place, site), heap_.size()};
  join.changes[0][to] = std::make_shared<Cell>(heap_.at(from));
  join.changes[1][to] = std::make_shared<Cell>(heap_.at(to));
  join.join_elements(from, to);
  join.merge_heaps();
}

Abstract ContainerWalk::either(ir::Value* condition, const Abstract& yes, const Abstract& no, ir::Node* place) {
  Join join{*this, empty_branch(condition, place, site_of(place)), heap_.size()};
  return join.merge(&yes, &no);
}

}  // namespace compatcheck::passes

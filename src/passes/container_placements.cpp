// Names of what a list in columns holds. An item that is read from such a list is a copy that knows its place, and a write to the
// copy is a write to that place.
#include <algorithm>

#include "passes/container_walk.h"
#include "passes/lifetimes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

void ContainerWalk::for_each_cell(const Abstract& item, const std::function<void(CellId)>& visit) {
  work();
  const Nesting nesting(nested_);
  if (nesting.is_deep()) leave(item);
  if (item.parts)
    for (const Abstract& part : *item.parts) for_each_cell(part, visit);
  if (!item.cell) return;
  visit(*item.cell);
  for (const Abstract& inner : std::vector<Abstract>(heap_.at(*item.cell).items)) for_each_cell(inner, visit);
}

ContainerWalk::Held ContainerWalk::held_by(const std::vector<Abstract>& items) {
  Held held;
  for (const Abstract& item : items)
    for_each_cell(item, [&](CellId id) {
      for (const auto& [identity, same] : heap_.identities(id))
        held.repeats = !held.identities.insert(identity).second || held.repeats;
    });
  return held;
}

// Returns the identities of the items of a list that needs columns.
std::set<Identity> ContainerWalk::elements_of(CellId list) {
  const Cell cell = heap_.at(list);
  if (cell.is_table()) return elements_of(*cell.items[1].cell);
  if (!needs_columns(heap_.origin(list).type)) return {};
  std::set<Identity> found = held_by(cell.items).identities;
  found.insert(heap_.elements(list).begin(), heap_.elements(list).end());
  return found;
}

// Whether one object may stand in two places of the list, or twice in an item.
bool ContainerWalk::repeats(CellId list) {
  const Cell cell = heap_.at(list);
  if (cell.is_table()) return repeats(*cell.items[1].cell);
  return held_by(cell.items).repeats || heap_.repeats(list);
}

// Whether anything except `list` leads to the object after the node. Cells from `first_result` on don't count.
bool ContainerWalk::lives_on(CellId id, const ir::Node* node, std::optional<CellId> list, CellId first_result) {
  const auto sharing = heap_.sharing(id);
  const auto is_met = [&](CellId other) { return other < first_result && is_live(other, node, list); };
  return is_met(id) || std::ranges::any_of(sharing, is_met) || !heap_.lists_that_may_hold(id).empty();
}

// Whether the list is no other cell at the end of a block, no container holds it, and the block doesn't return it.
bool ContainerWalk::has_one_name(CellId list, const ir::Block& block) {
  const auto holds = [&](const Cell& cell) {
    return std::ranges::any_of(cell.items, [&](const Abstract& item) { return leads_to(item, list); });
  };
  const auto returned = [&](const ir::Value* value) {
    return std::ranges::any_of(value->uses(), [&](const ir::Use& use) { return use.user == block.return_node(); });
  };
  work(heap_.not_ended().size());
  return heap_.sharing(list).empty() && heap_.lists_that_may_hold(list).empty() &&
         std::ranges::none_of(holders_, [&](const auto& entry) { return entry.second == list; }) &&
         std::ranges::none_of(heap_.not_ended(), [&](CellId id) { return holds(heap_.at(id)); }) &&
         std::ranges::none_of(names_[list], returned);
}

// Like `held_by`, but only with objects that something except the list leads to at the end of a block. Cells from `first_result`
// on are results of the block's owner.
ContainerWalk::Held ContainerWalk::held_at_end(const std::vector<Abstract>& items, CellId list, const ir::Block& block,
                                               CellId first_result) {
  Held held = held_by(items);
  std::set<Identity> living;
  const auto without = has_one_name(list, block) ? std::optional(list) : std::nullopt;
  for (const Abstract& item : items)
    for_each_cell(item, [&](CellId id) {
      if (!lives_on(id, block.return_node(), without, first_result)) return;
      for (const auto& [identity, same] : heap_.identities(id)) living.insert(identity);
    });
  held.identities = std::move(living);
  return held;
}

bool ContainerWalk::may_hold(CellId list, CellId id) const {
  return std::ranges::any_of(heap_.identities(id), [&](const auto& entry) { return heap_.elements(list).contains(entry.first); });
}

// Notes that an item that a list in columns gets may live on under another name, or in another list.
void ContainerWalk::hold(CellId list, const Abstract& item, ir::Node* node, const Placement* own) {
  std::set<Identity> met;
  std::set<CellId> visited, living;
  for_each_cell(item, [&](CellId id) {
    const auto placed = placements_.find(id);
    bool again = !visited.insert(id).second;
    if (!again && own && placed != placements_.end() && placed->second.get() == own) return;
    again = again || may_hold(list, id);
    for (const auto& [identity, same] : heap_.identities(id)) again = !met.insert(identity).second || again;
    if (again) heap_.set_repeats(list);
    if (lives_on(id, node)) living.insert(id);
  });
  for (const CellId id : living)
    for (const auto& [identity, same] : heap_.identities(id)) heap_.add_elements(list, {identity});
}

// A list that is kept in columns gets the items of another one, too, or may have them instead.
void ContainerWalk::hold_items_of(CellId from, CellId list) {
  const std::set<Identity> more = elements_of(from);
  const bool meet = std::ranges::any_of(more, [&](Identity identity) { return heap_.elements(list).contains(identity); });
  if (meet || repeats(from)) heap_.set_repeats(list);
  heap_.add_elements(list, more);
}

// Notes that an item that was read from a list stands at its place until the places change.
void ContainerWalk::place_item(CellId list, ir::Value* index, const Abstract& item, const ir::Block* block) {
  const auto placement = std::make_shared<const Placement>(Placement{list, index, heap_.at(list).version, item, block});
  for_each_cell(item, [&](CellId id) { placements_[id] = placement; });
}

// Returns the items of `before` that still stand at their places.
ContainerWalk::Placements ContainerWalk::standing(const Placements& before) const {
  Placements found;
  for (const auto& [id, old] : before) {
    const auto now = placements_.find(id);
    if (now != placements_.end() && now->second->version == heap_.at(now->second->list).version) found.insert(*now);
  }
  return found;
}

// Returns the items that stand at one place after both branches of an If.
ContainerWalk::Placements ContainerWalk::in_both(const Placements& one, const Placements& other) {
  Placements found;
  for (const auto& [id, placement] : one) {
    const auto there = other.find(id);
    if (there != other.end() && there->second->list == placement->list && there->second->index == placement->index)
      found.emplace(id, placement);
  }
  return found;
}

// After an If, its lists have new versions.
void ContainerWalk::settle_placements() {
  std::map<std::shared_ptr<const Placement>, std::shared_ptr<const Placement>> settled;
  for (auto& [id, placement] : placements_) {
    auto& now = settled[placement];
    if (!now) {
      now = std::make_shared<const Placement>(
          Placement{placement->list, placement->index, heap_.at(placement->list).version, placement->item, placement->block});
    }
    placement = now;
  }
}

// A write to `id` must reach the list that it was read from, and can't reach another one.
void ContainerWalk::reach_lists(CellId id, const ir::Node* writer) {
  const auto found = placements_.find(id);
  const Placement* placement = found == placements_.end() ? nullptr : found->second.get();
  if (placement && (placement->version != heap_.at(placement->list).version || !encloses(placement->block, *writer)))
    placement = nullptr;
  if (placement) to_write_back_.push_back(found->second);
  for (const CellId list : heap_.lists_that_may_hold(id)) {
    if ((placement && placement->list == list && !heap_.repeats(list)) || !is_live(list, writer)) continue;
    leave_names(id, list);
  }
}

void ContainerWalk::write_back(ir::Node* place) {
  while (!to_write_back_.empty()) {
    const std::shared_ptr<const Placement> placement = to_write_back_.back();
    const auto [list, index, version, item, block] = *placement;
    to_write_back_.pop_back();
    Layout layout = *heap_.at(list).layout;
    const auto now = layout_of(item);
    if (!now || !layout.widen(*now)) leave(heap_.origin(list).sites);
    std::vector<ir::Value*> columns = columns_of(heap_.at(list), heap_.origin(list).sites, layout, place), leaves;
    add_leaves(layout, item, place, leaves);
    columns = with_leaves_at(columns, layout, index, leaves, place);
    ir::Node* writer = columns.front()->producer();
    change(list, writer);
    set_columns(list, layout, std::move(columns));
    hold(list, item, writer, placement.get());
    // Other copies of the item are not what stands there now.
    const auto now_placed = std::make_shared<const Placement>(Placement{list, index, heap_.at(list).version, item, block});
    for_each_cell(item, [&](CellId id) {
      if (const auto found = placements_.find(id); found != placements_.end() && found->second == placement)
        found->second = now_placed;
    });
  }
}

}  // namespace compatcheck::passes

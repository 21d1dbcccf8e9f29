// Names that may mean one object: a write under one of them is a write under each.
#include <algorithm>
#include <array>

#include "passes/container_walk.h"
#include "passes/lifetimes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

// A write to an input, which the caller doesn't get.
void ContainerWalk::note_lost(const std::string& input, const ir::Node* writer) {
  const auto noted = [&](const ir::LostWrite& lost) { return lost.name == input; };
  if (!input.empty() && std::ranges::none_of(lost_writes_, noted))
    lost_writes_.push_back({input, writer->op(), writer->location(), writer->module()});
}

Cell& ContainerWalk::change(CellId id, const ir::Node* writer) {
  const CellOrigin& origin = heap_.origin(id);
  // It may be read under another name.
  for (const CellId other : heap_.sharing(id)) {
    if (!ir::same_structure(*origin.type, *heap_.origin(other).type)) continue;  // a part of the same item of a list
    writes_under_names_ = true;
    if (!is_live(other, writer)) continue;
    const ir::Block* block = writer->owner();
    const bool known = std::ranges::all_of(heap_.identities(id), [&](const auto& entry) {
      const auto found = heap_.identities(other).find(entry.first);
      return found == heap_.identities(other).end() || (entry.second.is_known_in(block) && found->second.is_known_in(block));
    });
    if (!known) {
      if (!options_.tracks_names) throw LeftOut{.sites = {}, .lacks_names = true};
      leave_names(id, other);
    }
    to_spread_.emplace_back(id, other);
  }
  reach_lists(id, writer);
  note_lost(origin.input, writer);
  for (const CellId other : heap_.sharing(id)) note_lost(heap_.origin(other).input, writer);
  Cell& cell = heap_.change(id);
  cell.made = nullptr;
  return cell;
}

// Spreads writes to cells that may be the same object.
void ContainerWalk::spread(ir::Node* place, Site site) {
  do {
    write_back(place);
    while (!to_spread_.empty()) {
      const auto [from, to] = to_spread_.back();
      to_spread_.pop_back();
      if (ir::Value* same = sameness(from, to, place)) select(same, from, to, place, site);
    }
  } while (!to_write_back_.empty());
}

// When both are one object; null: never.
ir::Value* ContainerWalk::sameness(CellId one, CellId other, ir::Node* place) {
  ir::Value* any = nullptr;
  const auto join = [&](const char* op, ir::Value* a, ir::Value* b) { return computed(place, op, std::array{a, b}, a->type()); };
  for (const auto& [identity, same] : heap_.identities(one)) {
    const auto found = heap_.identities(other).find(identity);
    if (found == heap_.identities(other).end()) continue;
    ir::Value *a = same.when, *b = found->second.when;
    ir::Value* both = a && b && a != b ? join("aten::__and__", a, b) : a ? a : b ? b : constant_before(place, {true});
    any = any && any != both ? join("aten::__or__", any, both) : both;
  }
  return any;
}

static bool is_around(const ir::Node& owner, const ir::Node& node) {
  return std::ranges::any_of(owner.blocks(), [&](const ir::Block* block) { return encloses(block, node); });
}

// Whether anything behind the node may still get hold of the cell: a value that is read later, or a cell that is alive so.
// `without`: a cell that doesn't count, though it may hold this one.
bool ContainerWalk::is_live(CellId id, const ir::Node* after, std::optional<CellId> without) {
  const auto read_later = [&](const ir::Value* value, const ir::Node* user) {
    if (user == after) return user == user->owner()->return_node();  // the block's results live on
    if (reads_contents_.contains(user)) return false;
    // An If or a Loop around the place has read its operands.
    if (!done_.contains(user) && !is_around(*user, *after)) return !exclude_each_other(after, user, value->block());
    for (const ir::Block* block = after->owner(); block && block->owner(); block = block->parent())
      if (block->owner()->is("prim::Loop") && encloses(block, *user) && available_in(value, block->parent())) return true;
    return false;
  };
  std::vector<CellId> holders{id};  // it, and the cells that hold it
  for (std::size_t at = 0; at < holders.size(); ++at) {
    const CellId held = holders[at];
    if (std::ranges::any_of(holders_, [&](const auto& entry) { return entry.second == held; })) return true;
    work(names_[held].size());
    for (const ir::Value* value : names_[held])
      for (const ir::Use& use : value->uses())
        if (read_later(value, use.user)) return true;
    work(heap_.not_ended().size());
    for (const CellId other : heap_.not_ended())
      if (other != without && std::ranges::find(holders, other) == holders.end() &&
          std::ranges::any_of(heap_.at(other).items, [&](const Abstract& item) { return leads_to(item, held); }))
        holders.push_back(other);
  }
  return false;
}

}  // namespace compatcheck::passes

// Names that may mean one list in some iteration of a loop, which carries whether they do.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "passes/container_loops.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

// Adds the cells of a value whose contents are carried.
void ContainerWalk::Loop::find_cells(const Plan& plan, const Abstract* abstract, Cells& cells) {
  abstract = defined(abstract);
  if (plan.kind == Plan::Kind::contents) cells.push_back(abstract ? abstract->cell : std::nullopt);
  if (plan.kind == Plan::Kind::option) return find_cells(plan.parts[0], abstract ? content(*abstract) : nullptr, cells);
  for (std::size_t i = 0; i < plan.parts.size(); ++i)
    find_cells(plan.parts[i], abstract ? &(*abstract->parts)[i] : nullptr, cells);
}

// Adds the dictionaries of a value that are carried as tables. At the end of an iteration one may have known keys.
void ContainerWalk::Loop::find_tables(const Plan& plan, const Abstract* abstract, std::set<CellId>& dicts) {
  abstract = defined(abstract);
  if (!abstract) return;
  if (plan.kind == Plan::Kind::contents && plan.contents->whole && plan.contents->kind == Cell::Kind::dict)
    dicts.insert(*abstract->cell);
  if (plan.kind == Plan::Kind::option) {
    if (const Abstract* inner = content(*abstract)) find_tables(plan.parts[0], inner, dicts);
    return;
  }
  for (std::size_t i = 0; i < plan.parts.size(); ++i) find_tables(plan.parts[i], &(*abstract->parts)[i], dicts);
}

ContainerWalk::Loop::Cells ContainerWalk::Loop::cells_in(const std::map<std::size_t, Abstract>& values) const {
  Cells cells;
  for (const auto& [i, plan] : plan_.carried) find_cells(plan, &values.at(i), cells);
  return cells;
}

// Notes which carried cells end an iteration as one list, or as one from outside of the loop. True if some were not known yet.
bool ContainerWalk::Loop::meet(const Cells& heads, const Ends& ends) {
  const Cells last = cells_in(ends.values);
  if (last.size() != heads.size()) {  // the plan has grown
    meeting_.clear();
    outer_.clear();
    return true;
  }
  const auto count = [&] { return meeting_.size() + outer_.size() + elements_.size() + repeats_; };  // each round may only add
  const std::size_t known = count();
  note_elements(last, ends);
  const auto meets = [&](std::optional<CellId> a, std::optional<CellId> b) {
    if (!a || !b) return false;
    const Identities &one = walk_.heap_.identities(*a), &other = walk_.heap_.identities(*b);
    return std::ranges::any_of(one, [&](const auto& entry) { return other.contains(entry.first); });
  };
  for (std::size_t p = 0; p < last.size(); ++p) {
    for (const auto& [identity, same] : identities(last[p]))
      if (was_outside(identity)) outer_.emplace(p, identity);
    for (std::size_t q = 0; q < last.size(); ++q) {
      if (p < q && meets(last[p], last[q])) meeting_.emplace(p, q);
      if (p == q || !meets(last[p], heads[q])) continue;  // p is in the next iteration what q was in this one
      const auto of_q = outer_;
      for (const auto& [place, identity] : of_q)
        if (place == q) outer_.emplace(p, identity);
    }
  }
  return count() > known;
}

// Notes which objects from outside of the loop items of lists may be. A container that is carried under its name and in such a
// list isn't known to be the same in the next iteration.
void ContainerWalk::Loop::note_elements(const Cells& last, const Ends& ends) {
  std::set<CellId> lists;
  for (const auto& cell : last)
    if (cell) lists.insert(*cell);
  for (const auto& [id, plan] : plan_.cells) lists.insert(id);
  std::set<CellId> tables;
  for (const auto& [i, plan] : plan_.carried) find_tables(plan, &ends.values.at(i), tables);
  for (const auto& [id, plan] : plan_.cells)
    if (plan.whole && plan.kind == Cell::Kind::dict) tables.insert(id);
  std::set<Identity> held;
  const auto note = [&](const std::set<Identity>& identities) {
    for (const Identity identity : identities)
      if (was_outside(identity)) elements_.insert(identity);
    held.insert(identities.begin(), identities.end());
  };
  walk_.heap_.reopen(ends.changes);
  for (const CellId list : lists) {
    note(walk_.elements_of(list));
    repeats_ = repeats_ || walk_.repeats(list);
  }
  for (const CellId id : tables) {
    if (walk_.heap_.at(id).is_table()) continue;
    const Held values = walk_.held_by(std::vector<Abstract>(walk_.heap_.at(id).items));
    note(values.identities);
    repeats_ = repeats_ || values.repeats;
  }
  walk_.heap_.close();
  for (const auto& cell : last)
    for (const auto& [identity, same] : identities(cell))
      if (held.contains(identity)) walk_.leave(walk_.heap_.origin(*cell).sites);
}

bool ContainerWalk::Loop::was_outside(Identity identity) const {
  if (identity < first_identity_) return true;
  const auto cells = walk_.heap_.cells_of(identity);
  return std::ranges::any_of(cells, [&](CellId id) { return walk_.heap_.origin(id).value && existed(id); });
}

// For each of `outer_` and `meeting_`, whether it is so: bools that can stand before `place`. None if they aren't carried.
std::vector<ir::Value*> ContainerWalk::Loop::flags_of(const Cells& cells, ir::Node* place) {
  std::vector<ir::Value*> flags;
  if (!walk_.options_.tracks_names) return flags;
  const auto flag = [&](ir::Value* so) { flags.push_back(so ? so : constant_before(place, {false})); };
  for (const auto& [p, identity] : outer_) {
    const Identities of_cell = identities(p < cells.size() ? cells[p] : std::nullopt);
    const auto found = of_cell.find(identity);
    if (found != of_cell.end() && !found->second.is_known_in(place->owner())) walk_.leave(walk_.heap_.origin(*cells[p]).sites);
    flag(found == of_cell.end() ? nullptr : found->second.when ? found->second.when : constant_before(place, {true}));
  }
  for (const auto& [p, q] : meeting_) {
    const bool both = q < cells.size() && cells[p] && cells[q];
    for (const std::size_t i : {p, q})
      for (const auto& [identity, same] : both ? identities(cells[i]) : Identities())
        if (!same.is_known_in(place->owner())) walk_.leave(walk_.heap_.origin(*cells[i]).sites);
    flag(both ? walk_.sameness(*cells[p], *cells[q], place) : nullptr);
  }
  return flags;
}

// Sets the identities of cells that stand for the carried ones, in an iteration or after the loop. Identities that aren't carried
// aren't known.
void ContainerWalk::Loop::give_identities(const Cells& cells, std::span<ir::Value* const> flags) {
  std::vector<Identities> made(cells.size());
  for (std::size_t p = 0; p < cells.size(); ++p) made[p][walk_.heap_.new_identity()] = {};
  std::size_t flag = 0;
  const auto next = [&] { return flags.empty() ? Sameness{.known = false} : Sameness{.when = flags[flag++]}; };
  for (const auto& [p, identity] : outer_) {
    const Sameness same = next();
    if (p < made.size()) made[p][identity] = same;
  }
  for (const auto& [p, q] : meeting_) {
    const Identity shared = walk_.heap_.new_identity();
    const Sameness same = next();
    if (q < made.size()) made[p][shared] = made[q][shared] = same;
  }
  for (std::size_t p = 0; p < cells.size(); ++p)
    if (cells[p]) walk_.heap_.set_identities(*cells[p], std::move(made[p]));
}

}  // namespace compatcheck::passes

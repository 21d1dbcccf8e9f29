// The differences between the beginning and the end of an iteration, which the loop must carry.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "passes/container_loops.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

bool ContainerWalk::Loop::widen(const Ends& ends) {
  bool more = false;
  const Cells heads_before = cells_in(ends.heads);
  for (auto& [i, plan] : plan_.carried) {
    const Abstract &head = ends.heads.at(i), &end = ends.values.at(i);
    if (!defined(&head) && end.is_none()) {  // it may as well be None from the start
      entries_.at(i) = Abstract::of(constant_before(node_, {}));
      more = true;
    } else {
      more = widen(plan, head, end, ends, true) || more;
    }
  }
  for (const auto& [id, changed] : ends.changes) {
    if (!existed(id)) continue;
    const auto head = ends.head_cells.find(id);
    const Cell before = head == ends.head_cells.end() ? walk_.heap_.at(id) : head->second;
    auto plan = plan_.cells.find(id);
    CellPlan fresh{.items = std::vector<Plan>(before.items.size())};
    const bool differs = widen(plan == plan_.cells.end() ? fresh : plan->second, before, *changed, walk_.heap_.origin(id), ends);
    if (differs && plan == plan_.cells.end()) plan_.cells.emplace(id, std::move(fresh));
    more = more || differs;
  }
  return more || meet(heads_before, ends);
}

const Cell& ContainerWalk::Loop::end_state(CellId id, const Ends& ends) const {
  const auto found = ends.changes.find(id);
  return found == ends.changes.end() ? walk_.heap_.at(id) : *found->second;
}

bool ContainerWalk::Loop::widen(Plan& plan, const Abstract& head, const Abstract& end, const Ends& ends, bool carried) {
  using enum Plan::Kind;
  if (!defined(&end) && plan.kind != choice) return false;
  if (plan.kind == nothing && !defined(&head) && !is_choice(end)) {
    plan = awaited(head, end, ends);
    return true;
  }
  if (plan.kind == option) {
    if (!is_settled(end)) refuse(head, end);
    const Abstract* inner = content(end);
    return inner && widen(plan.parts[0], head.parts->front(), *inner, ends, carried);
  }
  if (!same(head, end) && (head.present || end.present || head.is_none() != end.is_none())) {
    make_option(plan, head, end, ends, carried);
    return true;
  }
  const bool labels = (is_choice(head) || is_undefined_label(head)) && (is_choice(end) || is_undefined_label(end));
  if (plan.kind == choice || (plan.kind == nothing && labels && (is_choice(head) || is_choice(end)) && !same(head, end))) {
    if (!labels || leaves_options_out()) refuse(head, end);
    const std::size_t known = plan.options.size();
    for (const Abstract* each : {&head, &end})
      if (is_choice(*each)) walk_.code_in(*each, plan.options, node_);
    plan.kind = choice;
    return plan.options.size() > known;
  }
  if (plan.kind == value) {
    if (end.followed()) walk_.leave(end);
    const ir::TypeRef type = join_types(plan.type, end.value->type());
    const bool wider = !ir::equal(*type, *plan.type);
    plan.type = type;
    return wider;
  }
  if (plan.kind == nothing) {
    if (same(head, end)) return false;
    if (head.parts && end.parts && head.parts->size() == end.parts->size()) {
      plan.kind = parts;
      plan.type = head.type;
      plan.parts.resize(head.parts->size());
    } else if (head.cell && end.cell && carried) {
      plan.kind = contents;
      plan.type = walk_.heap_.origin(*head.cell).type;
      plan.contents = std::make_shared<CellPlan>(CellPlan{.items = std::vector<Plan>(walk_.heap_.at(*head.cell).items.size())});
    } else if (!head.followed() && !end.followed()) {
      plan.kind = value;
      plan.type = join_types(head.value->type(), end.value->type());
      return true;
    } else {
      refuse(head, end);
    }
    widen(plan, head, end, ends, carried);
    return true;
  }
  if (plan.kind == parts) {
    if (!end.parts || end.parts->size() != plan.parts.size()) refuse(head, end);
    bool more = false;
    for (std::size_t i = 0; i < plan.parts.size(); ++i)
      more = widen(plan.parts[i], (*head.parts)[i], (*end.parts)[i], ends, carried) || more;
    return more;
  }
  if (!end.cell) refuse(head, end);
  walk_.add_sites(end, plan_sites_);
  // The head's cell as it was when the iteration began.
  return widen(*plan.contents, walk_.heap_.at(*head.cell), end_state(*end.cell, ends), walk_.heap_.origin(*head.cell), ends);
}

// Carries the value, if it is carried so far, together with a bool that says whether it is there.
void ContainerWalk::Loop::make_option(Plan& plan, const Abstract& head, const Abstract& end, const Ends& ends, bool carried) {
  const bool cells = has_cells(head) || has_cells(end);
  if (leaves_options_out() || !is_settled(head) || !is_settled(end) || (cells && !carried)) refuse(head, end);
  const Abstract *before = content(head), *after = content(end);
  Plan inner = before ? std::move(plan) : all_of(*after, ends);
  if (before && after) widen(inner, *before, *after, ends, carried);
  plan = {.kind = Plan::Kind::option, .parts = {std::move(inner)}};
}

// The plan of the keys or the values of a table, whose number changes.
ContainerWalk::Plan ContainerWalk::Loop::whole_list(const Abstract& list, const Ends& ends) {
  const ir::TypeRef type = walk_.heap_.origin(*list.cell).type;
  CellPlan contents{.whole = true};
  if (needs_columns(type)) {
    const Cell& cell = end_state(*list.cell, ends);
    contents.layout = layout_of({}, cell, type, ends);
    if (!contents.layout) refuse(list, list);
  }
  return {.kind = Plan::Kind::contents, .type = type, .contents = std::make_shared<CellPlan>(std::move(contents))};
}

// The plan of a value that is undefined when the loop begins.
ContainerWalk::Plan ContainerWalk::Loop::awaited(const Abstract& head, const Abstract& end, const Ends& ends) {
  if (!is_settled(end)) refuse(head, end);
  if (!end.present) return all_of(end, ends);
  if (leaves_options_out()) refuse(head, end);
  return {.kind = Plan::Kind::option, .parts = {all_of(*content(end), ends)}};
}

ContainerWalk::Plan ContainerWalk::Loop::all_of(const Abstract& abstract, const Ends& ends) {
  using enum Plan::Kind;
  if (abstract.present || abstract.is_none()) refuse(abstract, abstract);
  if (abstract.cell) {
    walk_.add_sites(abstract, plan_sites_);
    const Cell& cell = end_state(*abstract.cell, ends);
    const ir::TypeRef& type = walk_.heap_.origin(*abstract.cell).type;
    // Only the identity of the container itself is carried, not that of containers in it.
    if (!cell.is_settled() || (!cell.is_table() && std::ranges::any_of(cell.items, has_cells))) refuse(abstract, abstract);
    CellPlan contents{.whole = cell.whole, .kind = cell.kind, .keys = cell.keys};
    if (cell.layout) contents.layout = *cell.layout;
    for (const Abstract& item : cell.items)
      contents.items.push_back(cell.is_table() ? whole_list(item, ends) : all_of(item, ends));
    return {.kind = Plan::Kind::contents, .type = type, .contents = std::make_shared<CellPlan>(std::move(contents))};
  }
  if (is_choice(abstract)) {
    Plan plan{.kind = Plan::Kind::choice};
    walk_.code_in(abstract, plan.options, node_);
    return plan;
  }
  if (!abstract.parts) return {.kind = value, .type = abstract.value->type()};
  Plan plan{.kind = parts, .type = abstract.type};
  for (const Abstract& part : *abstract.parts) plan.parts.push_back(all_of(part, ends));
  return plan;
}

bool ContainerWalk::Loop::widen(CellPlan& plan, const Cell& head, const Cell& end, const CellOrigin& origin, const Ends& ends) {
  if (head.kind == Cell::Kind::dict && (plan.whole || head.whole || end.whole)) return widen_table(plan, head, end, origin, ends);
  if (plan.whole && !plan.layout) return false;
  if (head.kind == Cell::Kind::list && (head.whole || end.whole || head.items.size() != end.items.size())) {
    if (head.whole && end.whole && head.made == end.made && head.columns == end.columns) return false;
    if (needs_columns(origin.type))
      if (const auto layout = layout_of(head, end, origin.type, ends)) {
        return widen_layout(plan, *layout);
      }
    if (plan.layout) walk_.leave(origin.sites);
    if (!is_plain_element(origin.type->elements[0])) walk_.leave(origin.sites, Unfollowed::of_items);
    plan = {.whole = true};
    return true;
  }
  const bool keeps_keys = same_keys(head.keys, end.keys) && head.present == end.present && head.unordered == end.unordered;
  if (head.kind == Cell::Kind::dict && !keeps_keys && plan.may_miss.empty() &&
      walk_.orders_as_table(head, origin.type, origin.sites) && walk_.orders_as_table(end, origin.type, origin.sites))
    return widen_table(plan, head, end, origin, ends);
  if (head.kind == Cell::Kind::dict && (!plan.may_miss.empty() || !keeps_keys)) return widen_keys(plan, head, end, ends);
  if (!keeps_keys) walk_.leave(origin.sites);
  bool more = false;
  if (head.untouched != end.untouched && !plan.untouched) more = plan.untouched = true;
  for (std::size_t i = 0; i < plan.items.size(); ++i)
    more = widen(plan.items[i], head.items[i], end.items[i], ends, false) || more;
  return more;
}

// Returns the layout of the items of both, as they are at the end of an iteration.
std::optional<Layout> ContainerWalk::Loop::layout_of(const Cell& head, const Cell& end, const ir::TypeRef& type,
                                                     const Ends& ends) {
  auto layout = walk_.layout_of_items(head, type);
  if (!layout && (head.whole || !head.items.empty())) return std::nullopt;
  walk_.heap_.reopen(ends.changes);
  auto joint = walk_.layout_of_items(end, type);
  walk_.heap_.close();
  if (!layout || (!joint && !end.whole && end.items.empty())) return layout ? layout : joint;
  if (joint && end.layout) return layout->widened(*joint);
  return joint && layout->widen(*joint) ? layout : std::nullopt;
}

bool ContainerWalk::Loop::widen_layout(CellPlan& plan, const Layout& layout) {
  if (plan.layout && layout.keeps_codes(*plan.layout)) return false;
  if (!plan.layout) plan = {.whole = true, .layout = layout};
  const auto wide = plan.layout->widened(layout);
  if (!wide) throw NothingToLeaveOut{};
  plan.layout = *wide;
  return true;
}

bool ContainerWalk::Loop::keeps_order(const std::vector<ir::Constant>& keys, const std::vector<ir::Constant>& later) {
  std::size_t last = 0;
  for (const ir::Constant& key : later) {
    const auto found = std::ranges::find_if(keys, [&](const ir::Constant& known) { return ir::equal(known, key); });
    const auto at = static_cast<std::size_t>(found - keys.begin());  // new keys are added at the end
    if (at < last) return false;
    last = at;
  }
  return true;
}

// Throws if a container that becomes an item of a dictionary has another name at the end of an iteration: names of items aren't
// carried.
void ContainerWalk::Loop::refuse_shared(const Abstract& item, const Ends& ends) {
  if (!has_cells(item)) return;
  walk_.heap_.reopen(ends.changes);
  std::set<Identity> own;
  std::multiset<Identity> all;
  bool shared = false;
  walk_.for_each_cell(item, [&](CellId id) {
    for (const auto& [identity, same] : walk_.heap_.identities(id)) {
      own.insert(identity);
      shared = shared || was_outside(identity);
    }
    shared = shared || !walk_.heap_.lists_that_may_hold(id).empty();
  });
  std::set<CellId> visited;
  const auto count = [&](const auto& self, const Abstract& held) -> void {
    if (held.parts)
      for (const Abstract& part : *held.parts) self(self, part);
    if (!held.cell) return;
    for (const auto& [identity, same] : walk_.heap_.identities(*held.cell)) all.insert(identity);
    if (!visited.insert(*held.cell).second) return;
    all.insert(walk_.heap_.elements(*held.cell).begin(), walk_.heap_.elements(*held.cell).end());
    for (const Abstract& inner : std::vector<Abstract>(walk_.heap_.at(*held.cell).items)) self(self, inner);
  };
  for (const auto& [i, value] : ends.values) count(count, value);
  for (const auto& [id, cell] : ends.changes)
    if (existed(id) && visited.insert(id).second)
      for (const Abstract& held : std::vector<Abstract>(cell->items)) count(count, held);
  walk_.heap_.close();
  shared = shared || std::ranges::any_of(own, [&](Identity identity) { return all.count(identity) > 1; });
  if (shared) walk_.leave(item, Unfollowed::of_names);
}

bool ContainerWalk::Loop::widen_keys(CellPlan& plan, const Cell& head, const Cell& end, const Ends& ends) {
  bool more = plan.may_miss.empty();
  if (more) {
    plan.kind = Cell::Kind::dict;
    plan.keys = head.keys;
    plan.unordered_at_first = end.unordered;
    for (const Abstract& item : head.items) plan.may_miss.push_back(head.presence(&item) != nullptr);
  }
  const auto set = [&](auto&& flag, bool value) {
    if (!value || flag) return;
    flag = more = true;
  };
  if (!keeps_order(plan.keys, end.keys)) {  // one was removed and came again, maybe after a new one
    set(plan.unordered, true);
    set(plan.unordered_at_first, true);
  }
  for (std::size_t i = 0; i < plan.keys.size(); ++i) {
    const Abstract *before = item_of(head, plan.keys[i]), *after = item_of(end, plan.keys[i]);
    set(plan.may_miss[i], !after || end.presence(after));
    if (after && !(before && same(*before, *after))) refuse_shared(*after, ends);
    if (before && after) more = widen(plan.items[i], *before, *after, ends, false) || more;
  }
  for (std::size_t i = 0; i < end.keys.size(); ++i) {
    if (std::ranges::any_of(plan.keys, [&](const ir::Constant& key) { return ir::equal(key, end.keys[i]); })) continue;
    refuse_shared(end.items[i], ends);
    plan.keys.push_back(end.keys[i]);
    plan.items.push_back(all_of(end.items[i], ends));
    plan.may_miss.push_back(true);
    more = true;
  }
  // A key that came in some iteration is the last one then: the order is known if there are no others that may.
  const auto missing = std::ranges::count(plan.may_miss, true);
  set(plan.unordered, end.unordered || missing > 1 || (missing == 1 && !plan.may_miss.back()));
  return more;
}

bool ContainerWalk::Loop::widen_table(CellPlan& plan, const Cell& head, const Cell& end, const CellOrigin& origin,
                                      const Ends& ends) {
  if (head.is_table() && end.is_table() && !plan.whole && same(head.items[0], end.items[0]) &&
      same(head.items[1], end.items[1]) && !ends.changes.contains(*head.items[0].cell) &&
      !ends.changes.contains(*head.items[1].cell))
    return false;
  for (const Cell* dict : {&head, &end}) {
    walk_.need_order(*dict, origin.type, origin.sites);
    if (!dict->is_table() && !walk_.may_become_table(*dict, origin.type)) walk_.leave(origin.sites);
  }
  bool more = !plan.whole;
  if (more) {
    plan = {.whole = true, .items = std::vector<Plan>(2), .kind = Cell::Kind::dict};
    for (std::size_t i = 0; i < plan.items.size(); ++i)
      plan.items[i] = {.kind = Plan::Kind::contents,
                       .type = ir::list_of(origin.type->elements[i]),
                       .contents = std::make_shared<CellPlan>(CellPlan{.whole = true})};
  }
  CellPlan& values = *plan.items[1].contents;
  const ir::TypeRef type = ir::list_of(origin.type->elements[1]);
  if (!needs_columns(type)) return more;
  const auto list_of_values = [&](const Cell& dict, bool at_end) {
    if (!dict.is_table()) return Cell{.items = dict.items};
    return at_end ? end_state(*dict.items[1].cell, ends) : walk_.heap_.at(*dict.items[1].cell);
  };
  const auto layout = layout_of(list_of_values(head, false), list_of_values(end, true), type, ends);
  if (!layout) walk_.leave(origin.sites, Unfollowed::of_items);
  return widen_layout(values, *layout) || more;
}

void ContainerWalk::Loop::refuse(const Abstract& head, const Abstract& end) const {
  std::set<Site> sites;
  walk_.add_sites(head, sites);
  walk_.add_sites(end, sites);
  if (sites.empty()) sites.insert(site());
  walk_.leave(std::move(sites));
}

}  // namespace compatcheck::passes

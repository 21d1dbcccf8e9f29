// One iteration of a loop that stays: the values with which its body begins.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ir/control_flow.h"
#include "passes/container_loops.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

ContainerWalk::Ends ContainerWalk::Loop::walk_body(ir::Node* node) {
  const ir::LoopView loop(*node);
  ir::Block* body = &loop.body();
  Ends ends;
  const auto carry = [&](ir::Value* before, const ir::TypeRef& type) {
    node->add_input(before);
    ir::Value* inside = body->add_input(type);
    walk_.known_[inside] = Abstract::of(inside);
    return inside;
  };
  const std::size_t given = loop.initial_values().size();
  const Cells entered = cells_in(entries_);
  for (std::size_t p = 0; p < entered.size(); ++p)
    for (const auto& [identity, same] : identities(entered[p])) outer_.emplace(p, identity);
  for (const auto& [i, plan] : plan_.carried) {
    const Abstract& entry = entries_.at(i);
    const auto keep = [&](ir::Value* before, const ir::TypeRef& type) {
      if (loop.initial_values()[i] != before) loop.set_initial_value(i, before);
      loop.parameters()[i]->set_type(type);
      return loop.parameters()[i];
    };
    ends.heads[i] = keeps_place(plan) ? instance(plan, &entry, node, keep) : instance(plan, &entry, node, carry);
  }
  for (const auto& [id, plan] : plan_.cells) {
    if (plan.layout) hold_elements(id);
    ends.head_cells[id] = instance(plan, id, node, carry);
  }
  std::vector<ir::Value*> flags;
  for (ir::Value* flag : flags_of(entered, node)) flags.push_back(carry(flag, flag->type()));
  give_identities(cells_in(ends.heads), flags);
  walk_.heap_.open();
  for (const auto& [id, cell] : ends.head_cells) walk_.set_state(id, Cell(cell));
  for (std::size_t i = 0; i < given; ++i) {
    ir::Value* inside = loop.parameters()[i];
    if (!plan_.carried.contains(i)) {
      walk_.known_[inside] = Abstract::of(inside);
      continue;
    }
    if (keeps_place(plan_.carried.at(i))) {
      walk_.know(inside, ends.heads[i]);
      continue;
    }
    walk_.stand_for(inside, ends.heads[i], body->first() ? body->first() : body->return_node());
  }
  walk_.walk(*body);
  for (std::size_t i = 0; i < given; ++i) {
    Abstract end = walk_.look(loop.next_values()[i]);
    if (end.code && !is_choice(end)) end = Abstract::of(walk_.leaf(end, body->return_node()));
    if (plan_.carried.contains(i))
      ends.values[i] = is_unknown_tuple(end) ? walk_.as_parts(end, body->return_node()) : end;
    else if (has_cells(end) || end.present)
      walk_.leave(end);
  }
  ends.changes = walk_.heap_.close();
  for (std::size_t i = given; i-- > 0;) {
    if (!plan_.carried.contains(i) || keeps_place(plan_.carried.at(i))) continue;
    loop.erase_next_value(i);
    loop.erase_parameter(i);
  }
  return ends;
}

// `abstract` with what is carried in the places that the plan names. Null: it is None, or undefined.
Abstract ContainerWalk::Loop::instance(const Plan& plan, const Abstract* abstract, ir::Node* place, const Carry& carry) {
  using enum Plan::Kind;
  if (plan.kind != nothing) abstract = defined(abstract);
  switch (plan.kind) {
    case nothing: return *abstract;
    case value: return Abstract::of(carry(abstract ? abstract->value : place ? undefined(plan.type, place) : nullptr, plan.type));
    case parts: {
      std::vector<Abstract> made;
      for (std::size_t i = 0; i < plan.parts.size(); ++i)
        made.push_back(instance(plan.parts[i], abstract ? &(*abstract->parts)[i] : nullptr, place, carry));
      return Abstract::of_parts(std::move(made), abstract ? abstract->type : plan.type);
    }
    case option: {
      ir::Value* before = !place ? nullptr : abstract ? presence(*abstract, place) : constant_before(place, {false});
      ir::Value* present = carry(before, ir::simple_type(ir::TypeKind::boolean));
      return Abstract::of_option(present, instance(plan.parts[0], abstract ? content(*abstract) : nullptr, place, carry), site());
    }
    case choice:
      return Abstract::of_choice(carry(place ? code_of(plan, abstract, place) : nullptr, ir::simple_type(ir::TypeKind::integer)),
                                 plan.options, site());
    case contents: break;
  }
  std::set<Site> sites = plan_sites_;
  ir::TypeRef type = plan.type;
  if (abstract) {
    walk_.add_sites(*abstract, sites);
    type = walk_.heap_.origin(*abstract->cell).type;
  }
  const CellId made = walk_.add_cell(instance(*plan.contents, abstract, type, place, carry), type, std::move(sites));
  add_elements(made, abstract);
  return Abstract::of_cell(made);
}

// Notes the objects that items of a list that is carried in columns may be.
void ContainerWalk::Loop::add_elements(CellId list, const Abstract* before) {
  if (!walk_.heap_.at(list).layout) return;
  walk_.heap_.add_elements(list, elements_);
  if (before) walk_.heap_.add_elements(list, walk_.elements_of(*before->cell));
  if (repeats_ || (before && walk_.repeats(*before->cell))) walk_.heap_.set_repeats(list);
}

// The same for a list from before the loop that is carried in columns. It shares with another such list only the items that both
// were seen to get; items of lists that are new in each iteration aren't known by their names afterwards.
void ContainerWalk::Loop::hold_elements(CellId list) {
  walk_.heap_.add_elements(list, walk_.held_by(walk_.heap_.at(list).items).identities);
  if (makes_lists_in_columns()) walk_.heap_.add_elements(list, elements_);
  if (repeats_ || walk_.repeats(list)) walk_.heap_.set_repeats(list);
}

// The same for the values of a table that was a known dictionary before the loop.
void ContainerWalk::Loop::hold_values(CellId list, const Cell& dict) {
  const Held held = walk_.held_by(dict.items);
  walk_.heap_.add_elements(list, held.identities);
  if (held.repeats) walk_.heap_.set_repeats(list);
}

bool ContainerWalk::Loop::has_layout(const Plan& plan) {
  return any_has_layout(plan.parts) || (plan.contents && (plan.contents->layout || any_has_layout(plan.contents->items)));
}

bool ContainerWalk::Loop::any_has_layout(const std::vector<Plan>& plans) {
  return std::ranges::any_of(plans, [](const Plan& plan) { return has_layout(plan); });
}

bool ContainerWalk::Loop::makes_lists_in_columns() const {
  return std::ranges::any_of(plan_.carried, [](const auto& entry) { return has_layout(entry.second); }) ||
         std::ranges::any_of(plan_.cells, [](const auto& entry) { return any_has_layout(entry.second.items); });
}

ir::Value* ContainerWalk::Loop::code_of(const Plan& plan, const Abstract* choice, ir::Node* place) {
  std::vector<Abstract> options = plan.options;
  return choice && is_choice(*choice) ? walk_.code_in(*choice, options, place) : constant_before(place, {std::int64_t{0}});
}

ir::Value* ContainerWalk::Loop::undefined(const ir::TypeRef& type, ir::Node* place) {
  return node_before(place, "prim::Uninitialized", {}, {&type, 1})->output();
}

ir::Value* ContainerWalk::Loop::presence(const Abstract& abstract, ir::Node* place) {
  return abstract.present ? abstract.present : constant_before(place, {!abstract.is_none()});
}

// Returns a carried dictionary that is `before` when the loop begins.
Cell ContainerWalk::Loop::instance_of_keys(const CellPlan& plan, const Cell& before, ir::Node* place, const Carry& carry) {
  // After a loop in which each iteration sets all keys they stand in the order of the first iteration.
  const bool all_there = !place && runs_ && std::ranges::find(plan.there_at_end, false) == plan.there_at_end.end();
  const bool unordered = before.unordered || (all_there ? plan.unordered_at_first : plan.unordered);
  Cell cell{.kind = Cell::Kind::dict, .keys = plan.keys, .unordered = unordered};
  for (std::size_t i = 0; i < plan.keys.size(); ++i) {
    const Abstract* item = item_of(before, plan.keys[i]);
    ir::Value* present = nullptr;
    if (plan.may_miss[i])
      present = carry(place ? presence_in(before, item, place) : nullptr, ir::simple_type(ir::TypeKind::boolean));
    const bool is_there = !place && runs_ && plan.there_at_end[i];  // only for the state after the loop
    cell.present.push_back(is_there ? nullptr : present);
    cell.items.push_back(instance(plan.items[i], item, place, carry));
  }
  if (std::ranges::none_of(cell.present, [](const ir::Value* present) { return present; })) cell.present.clear();
  walk_.keys_may_miss_ = walk_.keys_may_miss_ || !cell.present.empty();
  return cell;
}

const Abstract* ContainerWalk::Loop::item_of(const Cell& dict, const ir::Constant& key) {
  return dict.items.empty() ? nullptr : dict.find(key);
}

ir::Value* ContainerWalk::Loop::presence_in(const Cell& dict, const Abstract* item, ir::Node* place) {
  ir::Value* present = item ? dict.presence(item) : nullptr;
  return present ? present : constant_before(place, {item != nullptr});
}

// The contents of `before` with what is carried in the places that the plan names; null: there is none of `type` when the loop
// begins.
Cell ContainerWalk::Loop::instance(const CellPlan& plan, const Abstract* before, const ir::TypeRef& type, ir::Node* place,
                                   const Carry& carry) {
  const std::set<Site> sites = before ? walk_.heap_.origin(*before->cell).sites : plan_sites_;
  Cell cell = before ? walk_.heap_.at(*before->cell) : Cell{.kind = plan.kind, .keys = plan.keys};
  if (plan.whole && plan.kind == Cell::Kind::dict) {
    const Cell table = place && before ? walk_.table_of(cell, type, sites, place) : cell;
    Cell lists{.kind = Cell::Kind::dict, .whole = true};
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
      const ir::TypeRef list = ir::list_of(type->elements[i]);
      const Abstract* own = table.is_table() ? &table.items[i] : nullptr;
      const CellId made = walk_.add_cell(instance(*plan.items[i].contents, own, list, place, carry), list, sites);
      add_elements(made, own);
      if (!own && walk_.heap_.at(made).layout) hold_values(made, table);
      lists.items.push_back(Abstract::of_cell(made));
    }
    return lists;
  }
  if (plan.layout) {
    const std::vector<Column> form = plan.layout->columns();
    Cell list{
        .whole = true, .layout = std::make_shared<const Layout>(*plan.layout), .columns = std::vector<ir::Value*>(form.size())};
    if (place) list.columns = walk_.columns_of(cell, sites, *plan.layout, place);
    for (std::size_t i = 0; i < form.size(); ++i) list.columns[i] = carry(list.columns[i], form[i].type);
    return list;
  }
  if (plan.whole) {
    ir::Value* list = !place ? nullptr : before ? walk_.leaf(*before, place) : undefined(type, place);
    return {.kind = cell.kind, .whole = true, .made = carry(list, type)};
  }
  if (!plan.may_miss.empty()) return instance_of_keys(plan, cell, place, carry);
  if (!cell.whole) cell.made = nullptr;
  cell.untouched = cell.untouched || plan.untouched;
  if (!before) cell.items.resize(plan.items.size());
  for (std::size_t i = 0; i < plan.items.size(); ++i)
    cell.items[i] = instance(plan.items[i], before ? &cell.items[i] : nullptr, place, carry);
  return cell;
}

// The same for a cell from before the loop.
Cell ContainerWalk::Loop::instance(const CellPlan& plan, CellId id, ir::Node* place, const Carry& carry) {
  const Abstract before = Abstract::of_cell(id);
  return instance(plan, &before, ir::TypeRef(walk_.heap_.origin(id).type), place, carry);
}

}  // namespace compatcheck::passes

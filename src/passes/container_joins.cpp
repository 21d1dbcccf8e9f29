#include "passes/container_joins.h"

#include <algorithm>

#include "passes/lifetimes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

// Returns the items of lists that stand at one place after both blocks.
ContainerWalk::Placements ContainerWalk::Join::walk_blocks() {
  const Placements before = walk.standing(walk.placements_);
  std::array<Placements, ways> after;
  for (std::size_t way = 0; way < ways; ++way) {
    ir::Block* block = node->blocks()[way];
    walk.placements_ = before;
    const auto first = static_cast<CellId>(walk.heap_.size());
    walk.heap_.open();
    walk.settle_keys(node->input(0), way == 0);
    walk.note_keys(node->input(0), way == 0, block);
    walk.walk(*block);
    after[way] = walk.standing(before);
    living[way] = walk.heap_.living_since(first);
    changes[way] = walk.heap_.close();
    for (const ir::Node* inner : *block) raises[way] = raises[way] || inner->is("prim::RaiseException");
  }
  first_result = static_cast<CellId>(walk.heap_.size());
  return raises[0] ? after[1] : raises[1] ? after[0] : in_both(after[0], after[1]);
}

const Cell& ContainerWalk::Join::state(std::size_t way, CellId id) const {
  const auto found = changes[way].find(id);
  return found == changes[way].end() ? walk.heap_.at(id) : *found->second;
}

// Merges the values at the ends of both blocks; null, or undefined, where a block raises.
Abstract ContainerWalk::Join::merge(const Abstract* a, const Abstract* b) {
  a = defined(a);
  b = defined(b);
  if (!a && !b) return Abstract::of(output({nullptr, nullptr}));
  const Abstract& one = a ? *a : *b;
  if (a && b ? joins_labels(*a, *b) : one.code && is_choice(one)) return merge_choices(a, b);
  if (is_label(one) && !(a && b)) return Abstract::of(constant_before(node, *ir::constant_of(one.value), one.value->type()));
  if (one.code && !(a && b))
    return Abstract::of(output({a ? walk.leaf(*a, end_of(0)) : nullptr, b ? walk.leaf(*b, end_of(1)) : nullptr}));
  if (a && b ? joins_none(*a, *b) : one.present != nullptr) return merge_options(a, b);
  if (a && b && (a->present || b->present)) leave(*a, *b);
  if (a && b && !alike(*a, *b)) return merge_values(*a, *b);
  if (one.parts) {
    const std::size_t count = one.parts->size();
    std::vector<Abstract> parts;
    for (std::size_t i = 0; i < count; ++i) parts.push_back(merge(a ? &(*a->parts)[i] : nullptr, b ? &(*b->parts)[i] : nullptr));
    return Abstract::of_parts(std::move(parts), one.type);
  }
  if (one.cell) return Abstract::of_cell(merge_cells(a ? a->cell : std::nullopt, b ? b->cell : std::nullopt));
  return Abstract::of(output({a ? a->value : nullptr, b ? b->value : nullptr}));
}

bool ContainerWalk::Join::joins_none(const Abstract& a, const Abstract& b) const {
  if (walk.options_.unfollowed.contains(site()) || !is_settled(a) || !is_settled(b)) return false;
  return a.present || b.present || a.is_none() != b.is_none();
}

bool ContainerWalk::Join::joins_labels(const Abstract& a, const Abstract& b) const {
  return is_choice(a) && is_choice(b) && !same(a, b) && !walk.options_.unfollowed.contains(site());
}

Abstract ContainerWalk::Join::merge_choices(const Abstract* a, const Abstract* b) {
  std::vector<Abstract> options;
  const auto code = [&](const Abstract* of, std::size_t way) { return of ? walk.code_in(*of, options, end_of(way)) : nullptr; };
  ir::Value *first = code(a, 0), *second = code(b, 1);
  return Abstract::of_choice(output({first, second}), std::move(options), site());
}

Abstract ContainerWalk::Join::merge_options(const Abstract* a, const Abstract* b) {
  const auto presence = [](const Abstract* of) { return of ? Truth{of->present, !of->is_none()} : Truth{}; };
  const Truth present = merge(presence(a), presence(b));
  Abstract inner = merge(a ? content(*a) : nullptr, b ? content(*b) : nullptr);
  return present.value ? Abstract::of_option(present.value, std::move(inner), site()) : inner;
}

ContainerWalk::Join::Truth ContainerWalk::Join::merge(const Truth& a, const Truth& b) {
  if (!a.value && !b.value) {
    if (!a.known || !b.known || *a.known == *b.known) return {nullptr, a.known ? a.known : b.known};
    if (*a.known) return {node->input(0)};
    return {opposite = opposite ? opposite : walk.negated(node->input(0), node)};
  }
  const auto in_way = [&](std::size_t way, const Truth& truth) {
    return truth.value || !truth.known ? truth.value : constant_in(way, *truth.known);
  };
  return {output({in_way(0, a), in_way(1, b)})};
}

ir::Value* ContainerWalk::Join::constant_in(std::size_t way, bool value) {
  ir::Value*& made = truths[way][value];
  return made = made ? made : constant_before(end_of(way), {value});
}

bool ContainerWalk::Join::alike(const Abstract& a, const Abstract& b) {
  if (a.code || b.code) return false;
  if (a.parts && b.parts) return a.parts->size() == b.parts->size();
  return !a.parts && !b.parts && a.cell.has_value() == b.cell.has_value();
}

// Joins values of different forms, such as None and a tuple. A value that leads to a cell isn't followed then.
Abstract ContainerWalk::Join::merge_values(const Abstract& a, const Abstract& b) {
  if (has_cells(a) || has_cells(b)) leave(a, b);
  if (a.parts && is_unknown_tuple(b)) return merge(&a, &keep(walk.as_parts(b, end_of(1))));
  if (b.parts && is_unknown_tuple(a)) return merge(&keep(walk.as_parts(a, end_of(0))), &b);
  return Abstract::of(output({walk.leaf(a, end_of(0)), walk.leaf(b, end_of(1))}));
}

void ContainerWalk::Join::leave(const Abstract& a, const Abstract& b) const {
  std::set<Site> sites;
  walk.add_sites(a, sites);
  walk.add_sites(b, sites);
  walk.leave(std::move(sites));
}

// One value for both ways: itself, a constant, or an output of the If.
ir::Value* ContainerWalk::Join::output(const std::array<ir::Value*, ways>& values) {
  if (values[0] == values[1] && values[0] && available_in(values[0], node->owner())) return values[0];
  if (const auto found = outputs.find(values); found != outputs.end()) {
    given.insert(found->second);
    return found->second;
  }
  const ir::Constant* constants[ways] = {};
  for (std::size_t way = 0; way < ways; ++way) constants[way] = values[way] ? ir::constant_of(values[way]) : nullptr;
  ir::Value*& made = outputs[values];
  if (!values[0] && !values[1]) {
    const ir::TypeRef type = ir::simple_type(ir::TypeKind::none);
    return made = node_before(node, "prim::Uninitialized", {}, {&type, 1})->output();
  }
  if (constants[0] && constants[1] && ir::equal(*constants[0], *constants[1]) &&
      ir::equal(*values[0]->type(), *values[1]->type()))
    return made = constant_before(node, *constants[0], values[0]->type());
  const ir::TypeRef type = !values[0]   ? values[1]->type()
                           : !values[1] ? values[0]->type()
                                        : join_types(values[0]->type(), values[1]->type());
  for (std::size_t way = 0; way < ways; ++way) {
    ir::Block* block = node->blocks()[way];
    block->add_output(values[way] ? values[way]
                                  : node_before(block->return_node(), "prim::Uninitialized", {}, {&type, 1})->output());
  }
  made = node->add_output(type);  // no change by itself: it is removed if nothing reads it
  walk.known_[made] = Abstract::of(made);
  return made;
}

CellId ContainerWalk::Join::merge_cells(std::optional<CellId> a, std::optional<CellId> b) {
  if (a == b || !a || !b) {
    const CellId only = a ? *a : *b;
    if (existed(only)) return only;
  }
  const std::array<CellId, ways> key{a.value_or(~CellId{}), b.value_or(~CellId{})};
  if (const auto found = merged.find(key); found != merged.end()) return found->second;
  const CellOrigin origin = walk.heap_.origin(a ? *a : *b);
  std::set<Site> sites = origin.sites;
  if (b) sites.insert(walk.heap_.origin(*b).sites.begin(), walk.heap_.origin(*b).sites.end());
  const std::array<const Cell*, ways> states{a ? &state(0, *a) : nullptr, b ? &state(1, *b) : nullptr};
  Cell cell = merge_states(states[0], states[1], origin.type, sites);
  const CellId made = walk.add_cell(std::move(cell), origin.type, sites);
  merged[key] = made;
  if (walk.heap_.at(made).layout) {
    for (const auto& from : {a, b})
      if (from) join_elements(*from, made);
    walk.heap_.add_elements(made, {walk.heap_.new_identity()});
    add_elements(made, states);
  }
  walk.heap_.set_identities(made, merge_identities(a, b));
  return made;
}

Identities ContainerWalk::Join::merge_identities(std::optional<CellId> a, std::optional<CellId> b) {
  const std::array<std::optional<CellId>, ways> cells{a, b};
  Identities merged_ones;
  for (const auto& cell : cells)
    for (const auto& [identity, same] : cell ? walk.heap_.identities(*cell) : Identities()) {
      if (merged_ones.contains(identity)) continue;
      std::array<Truth, ways> truths_of{};
      bool known = true;
      for (std::size_t way = 0; way < ways; ++way) {
        if (!cells[way]) continue;
        const Identities& of_way = walk.heap_.identities(*cells[way]);
        const auto found = of_way.find(identity);
        known = known && (found == of_way.end() || found->second.known);
        truths_of[way] = found == of_way.end() ? Truth{nullptr, false} : Truth{found->second.when, true};
      }
      if (!known) {
        merged_ones[identity] = {.known = false};
        continue;
      }
      const Truth truth = merge(truths_of[0], truths_of[1]);
      if (truth.value || truth.known != false) merged_ones[identity] = {.when = truth.value};
    }
  return merged_ones;
}

Cell ContainerWalk::Join::merge_states(const Cell* a, const Cell* b, const ir::TypeRef& type, const std::set<Site>& sites) {
  const Cell& one = a ? *a : *b;
  if ((a && a->is_table()) || (b && b->is_table())) return merge_tables(a, b, type, sites);
  if (one.kind == Cell::Kind::dict && a && b) {
    const bool orders = !in_one_order(*a, *b) && walk.orders_as_table(*a, type, sites) && walk.orders_as_table(*b, type, sites);
    return orders ? merge_tables(a, b, type, sites) : merge_dicts(*a, *b);
  }
  Cell cell{.kind = one.kind, .keys = one.keys, .unordered = one.unordered};
  for (ir::Value* present : one.present) {
    const bool made_inside = present && !available_in(present, node->owner());
    cell.present.push_back(made_inside ? output({a ? present : nullptr, b ? present : nullptr}) : present);
  }
  const bool alike = !a || !b || (a->items.size() == b->items.size() && same_keys(a->keys, b->keys));
  if (one.kind == Cell::Kind::list && (!alike || (a && a->whole) || (b && b->whole))) {
    if (needs_columns(type) && merge_columns(cell, a, b, type, sites)) return cell;
    if (!is_plain_element(type->elements[0]) || (a && a->layout) || (b && b->layout)) walk.leave(sites, Unfollowed::of_items);
    cell.whole = true;
    cell.made = output({a ? whole(0, *a, type) : nullptr, b ? whole(1, *b, type) : nullptr});
    return cell;
  }
  if (!alike) walk.leave(sites);
  cell.untouched = (a && a->untouched) || (b && b->untouched);
  for (std::size_t i = 0; i < one.items.size(); ++i)
    cell.items.push_back(merge(a ? &a->items[i] : nullptr, b ? &b->items[i] : nullptr));
  return cell;
}

// Merges a list whose lengths differ, or that one block keeps in columns. False if both can't be in columns.
bool ContainerWalk::Join::merge_columns(Cell& cell, const Cell* a, const Cell* b, const ir::TypeRef& type,
                                        const std::set<Site>& sites) {
  const std::array<const Cell*, ways> lists{a, b};
  std::optional<Layout> layout;
  const std::size_t first = b && b->layout ? 1 : 0;  // the codes of a list in columns stay as they are
  for (const std::size_t way : {first, 1 - first}) {
    if (!lists[way] || (!lists[way]->whole && lists[way]->items.empty())) continue;
    const Cell list = *lists[way];
    auto of_way = at_end_of(way, [&] { return walk.layout_of_items(list, type); });
    if (!of_way || (layout && !layout->widen(*of_way))) return false;
    if (!layout) layout = std::move(of_way);
  }
  if (!layout) return false;
  std::array<std::vector<ir::Value*>, ways> columns{};
  for (std::size_t way = 0; way < ways; ++way) {
    if (!lists[way]) continue;
    const Cell list = *lists[way];
    columns[way] = at_end_of(way, [&] { return walk.columns_of(list, sites, *layout, end_of(way)); });
  }
  cell.whole = true;
  const std::size_t count = layout->columns().size();
  for (std::size_t i = 0; i < count; ++i)
    cell.columns.push_back(output({a ? columns[0][i] : nullptr, b ? columns[1][i] : nullptr}));
  cell.layout = std::make_shared<const Layout>(*std::move(layout));
  return true;
}

// Merges dictionaries that are tables after both blocks, or become tables.
Cell ContainerWalk::Join::merge_tables(const Cell* a, const Cell* b, const ir::TypeRef& type, const std::set<Site>& sites) {
  const std::array<const Cell*, ways> dicts{a, b};
  std::array<std::optional<Cell>, ways> tables{};
  for (std::size_t way = 0; way < ways; ++way) {
    if (!dicts[way]) continue;
    const Cell dict = *dicts[way];
    walk.need_order(dict, type, sites);
    if (!dict.is_table() && !walk.may_become_table(dict, type)) walk.leave(sites);
    tables[way] = at_end_of(way, [&] { return walk.table_of(dict, type, sites, end_of(way)); });
  }
  Cell cell{.kind = Cell::Kind::dict, .whole = true};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto list = [&](std::size_t way) { return tables[way] ? tables[way]->items[i].cell : std::nullopt; };
    cell.items.push_back(Abstract::of_cell(merge_cells(list(0), list(1))));
  }
  return cell;
}

// The keys of both ways in the order of each way; none if the ways have two keys in different orders.
std::optional<std::vector<ir::Constant>> ContainerWalk::Join::in_one_order(const Cell& a, const Cell& b) {
  std::vector<ir::Constant> keys;
  std::size_t next = 0;  // of b's keys
  for (const ir::Constant& key : a.keys) {
    if (const Abstract* found = b.find(key)) {
      const auto at = static_cast<std::size_t>(found - b.items.data());
      if (at < next) return std::nullopt;
      keys.insert(keys.end(), b.keys.begin() + static_cast<std::ptrdiff_t>(next),
                  b.keys.begin() + static_cast<std::ptrdiff_t>(at));
      next = at + 1;
    }
    keys.push_back(key);
  }
  keys.insert(keys.end(), b.keys.begin() + static_cast<std::ptrdiff_t>(next), b.keys.end());
  return keys;
}

// A key that is there one way only may be there afterwards.
Cell ContainerWalk::Join::merge_dicts(const Cell& a, const Cell& b) {
  walk.work(a.keys.size() * b.keys.size() / 16);
  auto keys = in_one_order(a, b);
  Cell cell{.kind = Cell::Kind::dict, .unordered = a.unordered || b.unordered || !keys};
  const std::array<const Cell*, ways> cells{&a, &b};
  if (!keys) {
    keys = a.keys;
    std::ranges::copy_if(b.keys, std::back_inserter(*keys), [&](const ir::Constant& key) { return !a.find(key); });
  }
  for (const ir::Constant& key : *keys) {
    const std::array<const Abstract*, ways> items{a.find(key), b.find(key)};
    std::array<Truth, ways> there{};
    for (std::size_t way = 0; way < ways; ++way)
      there[way] = items[way] ? Truth{cells[way]->presence(items[way]), true} : Truth{nullptr, false};
    ir::Value* present = merge(there[0], there[1]).value;
    cell.set(key, merge(items[0], items[1]));
    if (!present) continue;
    cell.present.resize(cell.keys.size());
    cell.present.back() = present;
    walk.keys_may_miss_ = true;
  }
  return cell;
}

ir::Value* ContainerWalk::Join::whole(std::size_t way, const Cell& cell, const ir::TypeRef& type) {
  return cell.made ? cell.made : walk.make(cell, {.type = type, .sites = {}}, end_of(way));
}

// A list in columns has the items that it has in `states`, at the ends of the blocks.
void ContainerWalk::Join::add_elements(CellId list, const std::array<const Cell*, ways>& states) {
  for (std::size_t way = 0; way < ways; ++way) {
    if (!states[way]) continue;
    const std::vector<Abstract> items = states[way]->items;
    const Held held = at_end_of(way, [&] { return walk.held_at_end(items, list, *node->blocks()[way], first_result); });
    walk.heap_.add_elements(list, held.identities);
    if (held.repeats) walk.heap_.set_repeats(list);
  }
}

// A list in columns that is `from` in some runs.
void ContainerWalk::Join::join_elements(CellId from, CellId list) {
  walk.heap_.add_elements(list, walk.heap_.elements(from));
  if (walk.heap_.repeats(from)) walk.heap_.set_repeats(list);
}

void ContainerWalk::Join::merge_heaps() {
  std::map<CellId, Cell> results;
  std::set<CellId> changed;
  for (const HeapChanges& of_way : changes)
    for (const auto& [id, cell] : of_way)
      if (existed(id)) changed.insert(id);
  for (const CellId id : changed) {
    const CellOrigin origin = walk.heap_.origin(id);
    const std::array<const Cell*, ways> states{raises[0] ? nullptr : &state(0, id), raises[1] ? nullptr : &state(1, id)};
    results[id] = merge_states(states[0], states[1], origin.type, origin.sites);
    if (results[id].layout) add_elements(id, states);
  }
  for (auto& [id, cell] : results) walk.set_state(id, std::move(cell));
}

}  // namespace compatcheck::passes

// Dictionaries whose keys are numbers that only the running model knows: a list of the keys and a list of the values, both in
// insertion order.
#include <algorithm>
#include <array>
#include <utility>

#include "ir/control_flow.h"
#include "passes/container_walk.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

namespace {

CellId keys_of(const Cell& table) { return *table.items[0].cell; }
CellId values_of(const Cell& table) { return *table.items[1].cell; }

}  // namespace

bool ContainerWalk::may_become_table(CellId dict) const { return may_become_table(heap_.at(dict), heap_.origin(dict).type); }

bool ContainerWalk::may_become_table(const Cell& cell, const ir::TypeRef& type) {
  const auto is_number_key = [](const ir::Constant& key) {
    return key.get<std::int64_t>() || key.get<double>() || key.get<bool>();
  };
  return cell.kind == Cell::Kind::dict && !cell.unordered && is_number(type->elements[0]) &&
         std::ranges::all_of(cell.keys, is_number_key);
}

// Returns a list of those of the items that are there. `presences` has a bool for each item; null: it is there. The items must
// have no other names.
Cell ContainerWalk::list_of_present(const std::vector<Abstract>& items, std::span<ir::Value* const> presences,
                                    const ir::TypeRef& type, const std::set<Site>& sites, ir::Node* place) {
  const auto layout = layout_of_items({.items = items}, type);
  if (!layout || layout->has_identity()) leave(sites, Unfollowed::of_items);
  const std::vector<Column> form = layout->columns();
  if (!spend(options_.budget.listed, items.size() * form.size())) leave(sites);
  std::vector<ir::Value*> columns(form.size());
  for (std::size_t item = 0; item < items.size(); ++item) {
    std::vector<ir::Value*> leaves;
    add_leaves(*layout, items[item], place, leaves);
    for (std::size_t i = 0; i < form.size(); ++i) {
      const auto constructed = [&](std::span<ir::Value* const> of) {
        return node_before(place, "prim::ListConstruct", of, {&form[i].type, 1})->output();
      };
      ir::Value* more = constructed({&leaves[i], 1});
      if (presences[item]) {
        ir::Value* nothing = constructed({});
        ir::Node* branch = empty_branch(presences[item], place, site_of(place));
        ir::IfView(*branch).then_block().add_output(more);
        ir::IfView(*branch).else_block().add_output(nothing);
        more = branch->add_output(form[i].type);
      }
      columns[i] = columns[i] ? computed(place, "aten::add", std::array{columns[i], more}, form[i].type) : more;
    }
  }
  for (ir::Value* column : columns) known_[column] = Abstract::of(column);
  if (!needs_columns(type)) return {.whole = true, .made = columns.front()};
  return {.whole = true, .layout = std::make_shared<const Layout>(*layout), .columns = std::move(columns)};
}

Cell ContainerWalk::table_of(Cell dict, ir::TypeRef type, std::set<Site> sites, ir::Node* place) {
  if (dict.is_table()) return dict;
  const std::array<ir::TypeRef, 2> types{ir::list_of(type->elements[0]), ir::list_of(type->elements[1])};
  Cell keys, values{.items = std::move(dict.items)};
  for (const ir::Constant& key : dict.keys) keys.items.push_back(Abstract::of(constant_before(place, key, type->elements[0])));
  if (!dict.present.empty()) {
    keys = list_of_present(keys.items, dict.present, types[0], sites, place);
    values = list_of_present(values.items, dict.present, types[1], sites, place);
  }
  const CellId first = add_cell(std::move(keys), types[0], sites);
  const CellId second = add_cell(std::move(values), types[1], sites);
  return {.kind = Cell::Kind::dict, .whole = true, .items = {Abstract::of_cell(first), Abstract::of_cell(second)}};
}

// Throws if the order of the keys got lost and a walk that keeps it may succeed.
void ContainerWalk::need_order(const Cell& dict, const ir::TypeRef& type, std::set<Site> sites) const {
  if (!dict.unordered || !is_number(type->elements[0])) return;
  std::erase_if(sites, [&](Site site) { return site == 0 || options_.ordered.contains(site); });
  if (!sites.empty()) throw LeftOut{.sites = std::move(sites), .lacks_order = true};
}

// Makes a table of a dictionary some of whose keys may be missing, if it can be one.
void ContainerWalk::settle(CellId dict, ir::Node* place) {
  const Cell& cell = heap_.at(dict);
  if (cell.kind == Cell::Kind::dict && !cell.is_settled()) make_table(dict, place);
}

// Whether it becomes a table before the order of its keys gets lost.
bool ContainerWalk::orders_as_table(const Cell& dict, const ir::TypeRef& type, const std::set<Site>& sites) {
  const bool keeps_order = std::ranges::any_of(sites, [&](Site site) { return options_.ordered.contains(site); });
  if (!keeps_order || !may_become_table(dict, type)) return false;
  if (dict.is_table() || dict.items.empty()) return true;
  const auto layout = layout_of_items({.items = dict.items}, ir::list_of(type->elements[1]));
  return layout && !layout->has_identity();
}

bool ContainerWalk::make_table(CellId dict, ir::Node* place) {
  need_order(heap_.at(dict), heap_.origin(dict).type, heap_.origin(dict).sites);
  if (!may_become_table(dict)) return false;
  Cell table = table_of(heap_.at(dict), heap_.origin(dict).type, heap_.origin(dict).sites, place);
  table.version = ++versions_;
  // A write to one of the lists is a write to the dictionary, which may stand in a list.
  if (const auto placed = placements_.find(dict); placed != placements_.end()) {
    const auto placement = placed->second;
    for (const Abstract& list : table.items) placements_[*list.cell] = placement;
  }
  heap_.change(dict) = std::move(table);
  return true;
}

// A value that stands for the list in nodes that are visited next.
ir::Value* ContainerWalk::name_of(CellId list, ir::Node* place) {
  return name_of(Abstract::of_cell(list), heap_.origin(list).type, place);
}

ir::Value* ContainerWalk::name_of(const Abstract& abstract, const ir::TypeRef& type, ir::Node* place) {
  if (!abstract.followed()) return abstract.value;
  ir::Node* name = node_before(place, "prim::Uninitialized", {}, {&type, 1});
  know(name->output(), abstract);
  drop(name);
  return name->output();
}

ir::Node* ContainerWalk::labelled(ir::Node* place, const char* op, std::span<ir::Value* const> inputs,
                                  std::span<const ir::TypeRef> types, Site site) {
  ir::Node* node = resolved_node(place, op, inputs, types);
  labels_[node] = site;
  return node;
}

// d.update(e) → d[k] = v for each item of e, which is visited next.
void ContainerWalk::update_item_by_item(ir::Node* node, CellId dict, CellId from) {
  if (from == dict) return wrote(node, dict);
  const Site site = site_of(node);
  const Cell other = heap_.at(from);
  const std::vector<ir::TypeRef> types = heap_.origin(from).type->elements;
  ir::Value* to = node->input(0);
  ir::Node* first = nullptr;
  const auto set = [&](ir::Node* place, ir::Value* key, ir::Value* value) {
    return labelled(place, "aten::_set_item", std::array{to, key, value}, {}, site);
  };
  if (other.is_table()) {
    ir::Value *keys = name_of(keys_of(other), node), *values = name_of(values_of(other), node);
    const ir::TypeRef integer = ir::simple_type(ir::TypeKind::integer);
    first = labelled(node, "aten::len", {&keys, 1}, {&integer, 1}, site);
    ir::Value* always = constant_before(node, {true});
    ir::Block* body = labelled(node, "prim::Loop", std::array{first->output(), always}, {}, site)->add_block();
    ir::Value* place = body->add_input(integer);
    body->add_output(always);
    const auto item = [&](ir::Value* list, const ir::TypeRef& type) {
      return labelled(body->return_node(), "aten::__getitem__", std::array{list, place}, {&type, 1}, site)->output();
    };
    ir::Value* key = item(keys, types[0]);
    set(body->return_node(), key, item(values, types[1]));
  }
  for (std::size_t i = 0; i < other.keys.size() && !other.is_table(); ++i) {
    ir::Value *key = constant_before(node, other.keys[i], types[0]), *value = name_of(other.items[i], types[1], node);
    ir::Value* present = other.presence(&other.items[i]);
    ir::Node* made = nullptr;
    if (present) {
      made = labelled(node, "prim::If", {&present, 1}, {}, site);
      set(made->add_block()->return_node(), key, value);
      made->add_block();
    } else {
      made = set(node, key, value);
    }
    first = first ? first : made;
  }
  if (first) return visit_instead(node, first, {});
  wrote(node, dict);
}

void ContainerWalk::read_table(ir::Node* node, CellId dict) {
  if (!node->is("aten::len")) return read_open_key(node, dict);
  ir::Value* keys = name_of(keys_of(heap_.at(dict)), node);
  visit_instead(node, labelled(node, "aten::len", {&keys, 1}, output_types(*node), site_of(node)));
}

// Reads the value of a key that the table certainly has.
void ContainerWalk::read_value(ir::Node* node, CellId table) {
  const std::array<ir::Value*, 2> inputs{name_of(values_of(heap_.at(table)), node), place_of_key(table, node->input(1), node)};
  visit_instead(node, labelled(node, "aten::__getitem__", inputs, output_types(*node), site_of(node)));
}

void ContainerWalk::write_table(ir::Node* node, CellId dict) {
  change(dict, node);
  if (!to_spread_.empty()) leave(Abstract::of_cell(dict));
  if (node->is("aten::clear")) {
    heap_.change(dict) = {.kind = Cell::Kind::dict, .version = ++versions_};
    return wrote(node, dict);
  }
  to_write_back_.clear();  // the writes to its lists do that
  const std::size_t inputs = node->inputs().size();
  if (node->is("aten::update") && inputs == 2) {
    const Abstract from = look(node->input(1));
    if (from.cell && heap_.at(*from.cell).kind == Cell::Kind::dict) return update_item_by_item(node, dict, *from.cell);
  }
  if ((node->is("aten::_set_item") || node->is("aten::setdefault")) && inputs == 3) return set_in_table(node, dict);
  if ((node->is("aten::pop") || node->is("aten::Delete")) && inputs == 2) return take_from_table(node, dict);
  if (node->is("aten::pop") && inputs == 3) return take_or_default(node, dict);
  if (node->is("aten::popitem") && inputs == 1) return take_first(node, dict);
  leave(Abstract::of_cell(dict));
}

// d[k] = v → if k in d: values[keys.index(k)] = v, else: keys.append(k); values.append(v).
void ContainerWalk::set_in_table(ir::Node* node, CellId dict) {
  const Site site = site_of(node);
  ir::Value *keys = name_of(keys_of(heap_.at(dict)), node), *values = name_of(values_of(heap_.at(dict)), node);
  ir::Value *key = node->input(1), *value = node->input(2), *there = is_key_of(dict, key, node);
  ir::Node* branch = labelled(node, "prim::If", {&there, 1}, {}, site);
  ir::Node *old = branch->add_block()->return_node(), *fresh = branch->add_block()->return_node();
  const bool sets = node->is("aten::_set_item");
  if (sets) labelled(old, "aten::_set_item", std::array{values, place_of_key(dict, key, old), value}, {}, site);
  labelled(fresh, "aten::append", std::array{keys, key}, {}, site);
  labelled(fresh, "aten::append", std::array{values, value}, {}, site);
  if (sets) return visit_instead(node, branch, {});
  // The result is looked up in the keys as they are afterwards.
  const ir::TypeRef integer = ir::simple_type(ir::TypeKind::integer);
  ir::Node* place = labelled(node, "aten::index", std::array{keys, key}, {&integer, 1}, site);
  const std::array<ir::Value*, 2> read{values, place->output()};
  ir::Node* result = labelled(node, "aten::__getitem__", read, {&heap_.origin(dict).type->elements[1], 1}, site);
  visit_instead(node, branch, result->outputs());
}

// d.pop(k) → values.pop(keys.index(k)), and the same for the keys.
void ContainerWalk::take_from_table(ir::Node* node, CellId dict) {
  const Site site = site_of(node);
  ir::Value *keys = name_of(keys_of(heap_.at(dict)), node), *values = name_of(values_of(heap_.at(dict)), node);
  ir::Value* key = node->input(1);
  if (!is_there({dict, key, {}}, node)) return demand(is_key_of(dict, key, node), node);
  ir::Value* place = place_of_key(dict, key, node);
  heap_.change(dict).version = ++versions_;
  ir::Node* popped = labelled(node, "aten::pop", std::array{values, place}, {&heap_.origin(dict).type->elements[1], 1}, site);
  labelled(node, "aten::Delete", std::array{keys, place}, {}, site);
  visit_instead(node, popped);
}

// d.pop(k, x) → d.pop(k) if k in d else x, which is visited next.
void ContainerWalk::take_or_default(ir::Node* node, CellId dict) {
  ir::Value* present = is_key_of(dict, node->input(1), node);
  ir::Node* branch = labelled(node, "prim::If", {&present, 1}, output_types(*node), site_of(node));
  ir::Block *there = branch->add_block(), *missing = branch->add_block();
  const std::array<ir::Value*, 2> inputs{node->input(0), node->input(1)};
  const ir::TypeRef type = heap_.origin(dict).type->elements[1];
  there->add_output(labelled(there->return_node(), "aten::pop", inputs, {&type, 1}, site_of(node))->output());
  missing->add_output(node->input(2));
  visit_instead(node, branch);
}

// d.popitem() → (keys.pop(0), values.pop(0)): TorchScript takes the first item.
void ContainerWalk::take_first(ir::Node* node, CellId dict) {
  const Site site = site_of(node);
  ir::Value *keys = name_of(keys_of(heap_.at(dict)), node), *values = name_of(values_of(heap_.at(dict)), node);
  ir::Value* first = constant_before(node, {std::int64_t{0}});
  heap_.change(dict).version = ++versions_;
  const std::vector<ir::TypeRef> types = heap_.origin(dict).type->elements;
  ir::Node* key = labelled(node, "aten::pop", std::array{keys, first}, {&types[0], 1}, site);
  ir::Node* value = labelled(node, "aten::pop", std::array{values, first}, {&types[1], 1}, site);
  visit_instead(
      node, key,
      labelled(node, "prim::TupleConstruct", std::array{key->output(), value->output()}, output_types(*node), site)->outputs());
}

// A list of the keys, the values, or both; or a copy.
void ContainerWalk::view_table(ir::Node* node, CellId dict, const Cell& table) {
  const auto copied = [&](CellId from) {
    Cell cell = heap_.at(from);
    if (!cell.whole) cell.made = nullptr;
    const CellId made = add_cell(std::move(cell), heap_.origin(from).type, {site_of(node->output())});
    if (heap_.at(from).layout) hold_items_of(from, made);
    return made;
  };
  if (is_left_out(node->output())) leave(Abstract::of_cell(dict));
  if (node->is("aten::keys") || ir::is(node->output()->type(), ir::TypeKind::list)) {
    if (!node->is("aten::items"))
      return give(node, Abstract::of_cell(copied(node->is("aten::values") ? values_of(table) : keys_of(table))));
    Layout pair{.kind = Layout::Kind::tuple, .type = node->output()->type()->elements[0]};
    std::vector<ir::Value*> columns;
    for (const Abstract& list : table.items) {
      const Cell items = heap_.at(*list.cell);
      const auto layout = layout_of_items(items, heap_.origin(*list.cell).type);
      if (!layout) leave(Abstract::of_cell(dict));
      std::ranges::copy(columns_of(items, heap_.origin(dict).sites, *layout, node), std::back_inserter(columns));
      pair.parts.push_back(*layout);
    }
    return give_columns(node, pair, std::move(columns), {values_of(table)});
  }
  Cell copy{.kind = Cell::Kind::dict, .whole = true};
  copy.items = {Abstract::of_cell(copied(keys_of(table))), Abstract::of_cell(copied(values_of(table)))};
  copy.version = ++versions_;
  give(node, new_container(node, std::move(copy)));
}

// The same for a dictionary some of whose keys may be missing, if their order is known.
void ContainerWalk::view_dict(ir::Node* node, CellId dict) {
  settle(dict, node);
  const Cell cell = heap_.at(dict);
  if (cell.unordered) leave(Abstract::of_cell(dict));
  view_table(node, dict, table_of(cell, heap_.origin(dict).type, heap_.origin(dict).sites, node));
}

}  // namespace compatcheck::passes

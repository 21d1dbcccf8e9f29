// Dictionaries whose keys are numbers that only the running model knows: a list of the keys and a list of the values, both in
// insertion order.
#include <algorithm>
#include <array>

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
  return cell.kind == Cell::Kind::dict && cell.is_settled() && is_number(type->elements[0]) &&
         std::ranges::all_of(cell.keys, is_number_key);
}

Cell ContainerWalk::table_of(Cell dict, ir::TypeRef type, std::set<Site> sites, ir::Node* place) {
  if (dict.is_table()) return dict;
  Cell keys;
  for (const ir::Constant& key : dict.keys) keys.items.push_back(Abstract::of(constant_before(place, key, type->elements[0])));
  const CellId first = add_cell(std::move(keys), ir::list_of(type->elements[0]), sites);
  const CellId second = add_cell({.items = std::move(dict.items)}, ir::list_of(type->elements[1]), sites);
  return {.kind = Cell::Kind::dict, .whole = true, .items = {Abstract::of_cell(first), Abstract::of_cell(second)}};
}

bool ContainerWalk::make_table(CellId dict, ir::Node* place) {
  if (!may_become_table(dict)) return false;
  Cell table = table_of(heap_.at(dict), heap_.origin(dict).type, heap_.origin(dict).sites, place);
  table.version = ++versions_;
  heap_.change(dict) = std::move(table);
  return true;
}

// A value that stands for the list in nodes that are visited next.
ir::Value* ContainerWalk::name_of(CellId list, ir::Node* place) {
  ir::Node* name = node_before(place, "prim::Uninitialized", {}, {&heap_.origin(list).type, 1});
  know(name->output(), Abstract::of_cell(list));
  drop(name);
  return name->output();
}

ir::Node* ContainerWalk::labelled(ir::Node* place, const char* op, std::span<ir::Value* const> inputs,
                                  std::span<const ir::TypeRef> types, Site site) {
  ir::Node* node = resolved_node(place, op, inputs, types);
  labels_[node] = site;
  return node;
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
  if ((node->is("aten::_set_item") || node->is("aten::setdefault")) && inputs == 3) return set_in_table(node, dict);
  if ((node->is("aten::pop") || node->is("aten::Delete")) && inputs == 2) return take_from_table(node, dict);
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

// A list of the keys, the values, or both; or a copy.
void ContainerWalk::view_table(ir::Node* node, CellId dict) {
  const Cell table = heap_.at(dict);
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
    const Cell values = heap_.at(values_of(table));
    const ir::TypeRef& type = heap_.origin(values_of(table)).type;
    const auto layout = layout_of_items(values, type);
    if (!layout) leave(Abstract::of_cell(dict));
    std::vector<ir::Value*> columns{leaf(Abstract::of_cell(keys_of(table)), node)};
    for (ir::Value* column : columns_of(values, heap_.origin(dict).sites, *layout, node)) columns.push_back(column);
    const Layout key{.type = heap_.origin(keys_of(table)).type->elements[0]};
    return give_columns(node, {.kind = Layout::Kind::tuple, .type = node->output()->type()->elements[0], .parts = {key, *layout}},
                        std::move(columns), {values_of(table)});
  }
  Cell copy{.kind = Cell::Kind::dict, .whole = true};
  copy.items = {Abstract::of_cell(copied(keys_of(table))), Abstract::of_cell(copied(values_of(table)))};
  copy.version = ++versions_;
  give(node, new_container(node, std::move(copy)));
}

}  // namespace compatcheck::passes

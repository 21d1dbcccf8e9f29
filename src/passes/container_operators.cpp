// Operators that are evaluated, and those that make lists, dictionaries and tuples that are followed.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "passes/container_walk.h"
#include "passes/list_form.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

const std::unordered_map<std::string_view, ContainerWalk::Visit>& ContainerWalk::visits() {
  using Walk = ContainerWalk;
  static const std::unordered_map<std::string_view, Visit> table = {
      {"prim::If", &Walk::branch},
      {"prim::Loop", &Walk::loop},
      {"prim::ListConstruct", &Walk::list_construct},
      {"prim::DictConstruct", &Walk::dict_construct},
      {"prim::TupleConstruct", &Walk::tuple_construct},
      {"prim::ColumnsConstruct", &Walk::columns_construct},
      {"prim::OptionalConstruct", &Walk::optional_construct},
      {"prim::TupleUnpack", &Walk::tuple_read},
      {"prim::TupleIndex", &Walk::tuple_read},
      {"prim::TupleSlice", &Walk::tuple_read},
      {"prim::ListUnpack", &Walk::list_unpack},
      {"prim::CreateObject", &Walk::create_object},
      {"prim::GetAttr", &Walk::get_attribute},
      {"prim::SetAttr", &Walk::set_attribute},
      {"prim::unchecked_cast", &Walk::refine},
      {"prim::isinstance", &Walk::is_instance},
      {"aten::_unwrap_optional", &Walk::refine},
      {"aten::__is__", &Walk::identity},
      {"aten::__isnot__", &Walk::identity},
      {"aten::split", &Walk::split},
      {"aten::split_with_sizes", &Walk::split},
      {"aten::to", &Walk::to},
      {"aten::__getitem__", &Walk::item},
      {"aten::get", &Walk::item},
      {"aten::len", &Walk::length},
      {"aten::slice", &Walk::slice},
      {"aten::add", &Walk::sum},
      {"aten::mul", &Walk::repeat},
      {"aten::list", &Walk::copy},
      {"aten::copy", &Walk::copy},
      {"aten::tensor", &Walk::tensor},
      {"prim::tolist", &Walk::to_list},
      {"aten::any", &Walk::verdict},
      {"aten::all", &Walk::verdict},
      {"aten::sorted", &Walk::sorted},
      {"aten::__contains__", &Walk::contains},
      {"aten::keys", &Walk::dict_view},
      {"aten::values", &Walk::dict_view},
      {"aten::items", &Walk::dict_view},
      {"aten::dict", &Walk::dict_of},
      {"aten::append", &Walk::write},
      {"aten::extend", &Walk::write},
      {"aten::add_", &Walk::write},
      {"aten::insert", &Walk::write},
      {"aten::mul_", &Walk::write},
      {"aten::remove", &Walk::write},
      {"aten::index", &Walk::index},
      {"aten::_set_item", &Walk::write},
      {"aten::pop", &Walk::write},
      {"aten::popitem", &Walk::write},
      {"aten::Delete", &Walk::write},
      {"aten::clear", &Walk::write},
      {"aten::reverse", &Walk::write},
      {"aten::sort", &Walk::write},
      {"aten::update", &Walk::write},
      {"aten::setdefault", &Walk::write},
  };
  return table;
}

void ContainerWalk::list_construct(ir::Node* node) {
  if (is_left_out(node->output()) || node->inputs().size() > most_items) return visit_made(node);
  Cell cell;
  cell.items.reserve(node->inputs().size());
  for (ir::Value* input : node->inputs()) cell.items.push_back(look(input));
  if (put_members(node)) cell.made = node->output();
  know(node->output(), new_container(node, std::move(cell)));
}

// Whether one value of the graph can hold it. Objects, lists in columns and dictionaries with keys that may be missing have none.
bool ContainerWalk::has_value(const Abstract& abstract) {
  work();
  const auto all = [&](const std::vector<Abstract>& items) {
    return std::ranges::all_of(items, [&](const Abstract& item) { return has_value(item); });
  };
  if (abstract.present || abstract.code) return abstract.code != nullptr;
  if (abstract.parts) return !abstract.holds_cells || all(*abstract.parts);
  if (!abstract.cell) return true;
  const Cell& cell = heap_.at(*abstract.cell);
  if (cell.kind == Cell::Kind::object || cell.layout || cell.is_table() || !cell.is_settled()) return false;
  return cell.kind == Cell::Kind::list && is_plain_element(heap_.origin(*abstract.cell).type->elements[0]) ? true
                                                                                                           : all(cell.items);
}

// Makes the node read its members' values. False if the graph has no value for one; then the node's output must not be read.
bool ContainerWalk::put_members(ir::Node* node) {
  for (ir::Value* input : node->inputs())
    if (!has_value(look(input))) return drop(node), false;
  put_operands(node);
  return true;
}

void ContainerWalk::dict_construct(ir::Node* node) {
  if (is_left_out(node->output())) return visit_made(node);
  if (sets_open_keys(*node)) return set_keys(node);
  Cell cell{.kind = Cell::Kind::dict};
  bool repeated = false;
  for (std::size_t i = 0; i + 1 < node->inputs().size(); i += 2) {
    const ir::Constant* key = ir::constant_of(node->input(i));
    if (!key || !is_key(*key)) return visit_made(node);
    work(cell.keys.size());
    repeated = repeated || cell.find(*key);
    cell.set(*key, look(node->input(i + 1)));
  }
  if (put_members(node) && !repeated) cell.made = node->output();
  know(node->output(), new_container(node, std::move(cell)));
}

// Whether the dictionary may be a table, and only the running model knows one of its keys.
bool ContainerWalk::sets_open_keys(const ir::Node& node) {
  const auto is_open = [&](std::size_t i) { return !ir::constant_of(node.input(i)) && !look(node.input(i)).followed(); };
  bool open = false;
  for (std::size_t i = 0; i + 1 < node.inputs().size(); i += 2) open = open || is_open(i);
  return open && may_become_table({.kind = Cell::Kind::dict}, node.output()->type());
}

// {k: x} becomes an empty dictionary and d[k] = x.
void ContainerWalk::set_keys(ir::Node* node) {
  const std::vector<ir::Value*> items(node->inputs().begin(), node->inputs().end());
  ir::Node* place = node->next() ? node->next() : node->owner()->return_node();
  node->erase_all_inputs();
  know(node->output(), new_container(node, {.kind = Cell::Kind::dict}));
  ir::Node* first = nullptr;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    ir::Node* made = labelled(place, "aten::_set_item", std::array{node->output(), items[i], items[i + 1]}, {}, site_of(node));
    reads_contents_.erase(made);
    first = first ? first : made;
  }
  visit_next(first);
}

// One that isn't followed: it must hold the very objects that it is given.
void ContainerWalk::visit_made(ir::Node* node) {
  for (ir::Value* input : node->inputs())
    if (const auto at = known_.find(input); at != known_.end() && has_cells(at->second)) leave(at->second);
  put_operands(node);
  known_[node->output()] = Abstract::of(node->output());
}

void ContainerWalk::tuple_construct(ir::Node* node) {
  std::vector<Abstract> parts;
  for (ir::Value* input : node->inputs()) parts.push_back(look(input));
  ir::Value* made = put_members(node) ? node->output() : nullptr;
  know(node->output(), Abstract::of_parts(std::move(parts), node->output()->type(), made));
}

void ContainerWalk::give_list(ir::Node* node, std::vector<Abstract> items) {
  if (!is_kind(node->output(), ir::TypeKind::list) || is_left_out(node->output()) || items.size() > most_items ||
      !spend(options_.budget.listed, items.size()))
    return visit_holder(node, items);
  give(node, new_container(node, {.items = std::move(items)}));
}

// A container that isn't followed and holds these: they must be the very objects, so they aren't followed either.
void ContainerWalk::visit_holder(ir::Node* node, const std::vector<Abstract>& items) {
  for (const Abstract& item : items)
    if (has_cells(item)) leave(item);
  visit_other(node);
}

void ContainerWalk::dict_of(ir::Node* node) {
  const Abstract from = node->inputs().empty() ? Abstract() : look(node->input(0));
  const auto unfollowed = [&] { visit_holder(node, from.cell ? heap_.at(*from.cell).items : std::vector<Abstract>()); };
  if (is_left_out(node->output()) || !is_kind(node->output(), ir::TypeKind::dict)) return unfollowed();
  Cell cell{.kind = Cell::Kind::dict};
  if (!node->inputs().empty()) {
    const Cell* list = known_list(from);
    if (from.cell && heap_.at(*from.cell).kind == Cell::Kind::dict) {
      if (heap_.at(*from.cell).is_table()) return view_dict(node, *from.cell);
      cell = heap_.at(*from.cell);
      cell.made = nullptr;
      if (!spend(options_.budget.listed, cell.items.size())) return unfollowed();
    } else if (list) {
      for (const Abstract& pair : list->items) {
        const auto key = pair.is_tuple() && pair.parts->size() == 2 ? as_constant(pair.parts->front()) : std::nullopt;
        if (!key || !is_key(*key)) return unfollowed();
        cell.set(*key, pair.parts->back());
      }
    } else {
      return visit_other(node);
    }
  }
  give(node, new_container(node, std::move(cell)));
}

}  // namespace compatcheck::passes

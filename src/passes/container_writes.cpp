// Writes to lists and dictionaries that are followed.
#include <algorithm>
#include <utility>

#include "passes/container_walk.h"
#include "passes/list_form.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

void set_item(Cell& dict, const ir::Constant& key, Abstract item) {
  dict.set(key, std::move(item));
  if (dict.keys.size() > most_items) throw TooMuchWork{};
}

// Whether the key may be missing, but isn't the last one: if it is missing, it becomes the last one.
bool loses_order(const Cell& dict, const ir::Constant& key) {
  const Abstract* found = dict.find(key);
  return found && dict.presence(found) && found != &dict.items.back();
}

}  // namespace

void ContainerWalk::write(ir::Node* node) {
  const Abstract to = node->inputs().empty() ? Abstract() : look(node->input(0));
  if (!to.cell) return visit_other(node);
  const CellId id = *to.cell;
  ir::Node* behind = node_behind(node);
  const Site site = site_of(node);
  if (heap_.at(id).kind == Cell::Kind::dict)
    write_dict(node, id);
  else if (heap_.at(id).whole || !write_list(node, id))
    write_list_value(node, id);
  spread(behind, site);
}

// Sets the operator's result, which is the list itself, and drops the operator.
void ContainerWalk::wrote(ir::Node* node, CellId id) {
  ++changes_;
  if (!node->outputs().empty()) know(node->output(), Abstract::of_cell(id));
  drop(node);
}

// A list of known items; false if that isn't enough to say what becomes of it.
bool ContainerWalk::write_list(ir::Node* node, CellId id) {
  const auto inputs = node->inputs();
  const std::size_t size = heap_.at(id).items.size();
  const auto at = inputs.size() > 1 ? position(inputs[1], size) : std::nullopt;
  if (node->is("aten::append") && inputs.size() == 2) {
    if (size >= most_items) return false;
    Abstract item = look(inputs[1]);
    change(id, node).items.push_back(std::move(item));
  } else if ((node->is("aten::extend") || node->is("aten::add_")) && inputs.size() == 2) {
    const Cell* other = known_list(look(inputs[1]));
    if (!other || size + other->items.size() > most_items) return false;
    const std::vector<Abstract> more = other->items;
    auto& items = change(id, node).items;
    items.insert(items.end(), more.begin(), more.end());
  } else if (node->is("aten::insert") && inputs.size() == 3) {
    const auto* index = known<std::int64_t>(inputs[1]);
    if (!index || size >= most_items) return false;
    const auto count = static_cast<std::int64_t>(size);
    Abstract item = look(inputs[2]);
    auto& items = change(id, node).items;
    items.insert(items.begin() + std::clamp<std::int64_t>(*index < 0 ? *index + count : *index, 0, count), std::move(item));
  } else if (node->is("aten::_set_item") && inputs.size() == 3 && at) {
    Abstract item = look(inputs[2]);
    change(id, node).items[*at] = std::move(item);
  } else if (node->is("aten::_set_item") && inputs.size() == 3 && size > 1 && size <= most_ways &&
             (std::ranges::all_of(heap_.at(id).items, is_choice) || !has_whole_items(heap_.origin(id).type))) {
    std::vector<Abstract> items = with_item_at(place_in(size, inputs[1], node), id, look(inputs[2]), node);
    change(id, node).items = std::move(items);
  } else if ((node->is("aten::pop") || node->is("aten::Delete")) && at) {
    const Abstract item = heap_.at(id).items[*at];
    auto& items = change(id, node).items;
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(*at));
    if (!node->outputs().empty()) return give(node, item), true;
  } else if (node->is("aten::remove") && inputs.size() == 2) {
    const auto found = find(heap_.at(id).items, inputs[1]);
    if (!found) return false;
    auto& items = change(id, node).items;
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(*found));
  } else if (node->is("aten::mul_") && inputs.size() == 2) {
    const auto* times = known<std::int64_t>(inputs[1]);
    if (!times || (*times > 0 && size > 0 && *times > static_cast<std::int64_t>(most_items / size))) return false;
    auto& items = change(id, node).items;
    const std::vector<Abstract> once = std::exchange(items, {});
    for (std::int64_t i = 0; i < *times && !once.empty(); ++i) items.insert(items.end(), once.begin(), once.end());
  } else if (node->is("aten::clear")) {
    change(id, node).items.clear();
  } else if (node->is("aten::reverse")) {
    std::ranges::reverse(change(id, node).items);
  } else if (node->is("aten::sort") && inputs.size() <= 2) {
    std::vector<Abstract> items = heap_.at(id).items;
    const bool* backwards = inputs.size() == 2 ? known<bool>(inputs[1]) : nullptr;
    if ((inputs.size() == 2 && (!backwards || *backwards)) || !sort_constants(items)) return false;
    change(id, node).items = std::move(items);
  } else {
    return false;
  }
  wrote(node, id);
  return true;
}

// l.append(x) → l + [x].
void ContainerWalk::write_list_value(ir::Node* node, CellId id) {
  if (write_columns(node, id)) return;
  const Abstract list = Abstract::of_cell(id);
  const bool plain = is_plain_element(heap_.origin(id).type->elements[0]);
  if (!has_list_form(*node) || !plain) leave(list, plain ? Unfollowed::unknown : Unfollowed::of_items);
  for (std::size_t i = 1; i < node->inputs().size(); ++i)
    if (const auto at = known_.find(node->input(i)); at != known_.end() && at->second.cell == id) leave(list);
  put_operands_from(node, 1);
  ir::Value* current = leaf(list, node);
  ++changes_;
  if (!node->is("aten::pop") && !node->outputs().empty()) {
    ir::Value* self = stand_in(node->output(), node);
    know(self, list);
  }
  ir::Value* result = take_list_form(node, current, options_.registry);
  done_.insert(result->producer());
  Cell& cell = change(id, result->producer());
  cell.items.clear();
  cell.whole = true;
  cell.made = result;
}

// A value in the place of `value`, for which something else will stand.
ir::Value* ContainerWalk::stand_in(ir::Value* value, ir::Node* place) {
  ir::Node* node = node_before(place, "prim::Uninitialized", {}, {&value->type(), 1});
  value->replace_all_uses_with(node->output());
  drop(node);
  return node->output();
}

// Makes readers of `value` read `abstract`.
void ContainerWalk::stand_for(ir::Value* value, Abstract abstract, ir::Node* place) {
  if (abstract.followed())
    know(stand_in(value, place), std::move(abstract));
  else
    value->replace_all_uses_with(abstract.value);
}

ir::Value* ContainerWalk::stand_in_for(ir::Node* node, std::size_t operand) {
  ir::Node* made = node_before(node, "prim::Uninitialized", {}, {&node->input(operand)->type(), 1});
  node->replace_input(operand, made->output());
  drop(made);
  return made->output();
}

// del d[k] and d.pop(k) of a key that only the running model knows. False if the dictionary can't be a table.
bool ContainerWalk::take_open_key(ir::Node* node, CellId id) {
  const std::size_t inputs = node->inputs().size();
  if ((inputs != 2 && inputs != 3) || !may_become_table(id)) return false;
  if (!heap_.at(id).keys.empty()) return make_table(id, node) && (write_table(node, id), true);
  if (inputs == 3) return give(node, look(node->input(2))), true;
  raise_before(node, options_.exception, "KeyError", {}, *node);
  if (node->outputs().empty())
    drop(node);
  else
    give(node, Abstract::of(node_before(node, "prim::Uninitialized", {}, output_types(*node))->output()));
  return true;
}

// d.popitem(), which takes the first item in TorchScript.
void ContainerWalk::pop_first(ir::Node* node, CellId id) {
  const Cell& dict = heap_.at(id);
  const ir::TypeRef type = node->output()->type();
  if (!ir::is(type, ir::TypeKind::tuple) || type->elements.size() != 2) leave(Abstract::of_cell(id));
  if (!dict.is_settled()) {
    if (!make_table(id, node)) leave(Abstract::of_cell(id));
    return write_table(node, id);
  }
  std::vector<Abstract> removed;
  if (dict.keys.empty()) {
    raise_before(node, options_.exception, "popitem(): dictionary is empty", {}, *node);
    for (const ir::TypeRef& part : type->elements)
      removed.push_back(Abstract::of(node_before(node, "prim::Uninitialized", {}, {&part, 1})->output()));
  } else {
    removed = {Abstract::of(constant_before(node, dict.keys.front())), dict.items.front()};
    change(id, node).erase(0);
  }
  give(node, Abstract::of_parts(std::move(removed), type));
}

void ContainerWalk::write_dict(ir::Node* node, CellId id) {
  const Abstract dict = Abstract::of_cell(id);
  const auto inputs = node->inputs();
  if (heap_.at(id).is_table()) return write_table(node, id);
  auto key = inputs.size() > 1 ? as_constant(look(inputs[1])) : std::nullopt;
  if (!key && node->is("aten::_set_item") && inputs.size() == 3 && takes_open_key(id, inputs[1])) return set_open_key(node, id);
  const bool sets = (node->is("aten::_set_item") || node->is("aten::setdefault")) && inputs.size() == 3;
  if (!key && sets && make_table(id, node)) return write_table(node, id);
  if (!key && (node->is("aten::pop") || node->is("aten::Delete")) && take_open_key(node, id)) return;
  if (node->is("aten::popitem") && inputs.size() == 1) return pop_first(node, id);
  const bool orders = orders_as_table(heap_.at(id), heap_.origin(id).type, heap_.origin(id).sites);
  if (key && sets && orders && loses_order(heap_.at(id), *key) && make_table(id, node)) return write_table(node, id);
  if (key && !is_key(*key)) key.reset();
  const Abstract* found = key ? heap_.at(id).find(*key) : nullptr;
  if (ir::Value* present = found ? heap_.at(id).presence(found) : nullptr; present && !node->is("aten::_set_item"))
    return write_key_that_may_be_there(node, id, *key, present);
  if (node->is("aten::clear")) {
    Cell& cell = change(id, node);
    cell = {.kind = Cell::Kind::dict};
  } else if (node->is("aten::update") && inputs.size() == 2) {
    const Abstract from = look(inputs[1]);
    if (!from.cell || heap_.at(*from.cell).kind != Cell::Kind::dict) leave(dict);
    const Cell other = heap_.at(*from.cell);
    if (!other.is_settled() || other.is_table() || orders) return update_item_by_item(node, id, *from.cell);
    Cell& cell = change(id, node);
    for (std::size_t i = 0; i < other.keys.size(); ++i) set_item(cell, other.keys[i], other.items[i]);
  } else if (node->is("aten::_set_item") && inputs.size() == 3 && key) {
    Abstract item = look(inputs[2]);
    set_item(change(id, node), *key, std::move(item));
  } else if (node->is("aten::setdefault") && inputs.size() == 3 && key) {
    Abstract item = found ? *found : look(inputs[2]);
    if (!found) set_item(change(id, node), *key, item);
    return give(node, std::move(item));
  } else if ((node->is("aten::pop") || node->is("aten::Delete")) && found) {
    const Abstract item = *found;
    Cell& cell = change(id, node);
    cell.erase(static_cast<std::size_t>(cell.find(*key) - cell.items.data()));
    if (!node->outputs().empty()) return give(node, item);
  } else if (node->is("aten::pop") && key && inputs.size() == 3) {
    return give(node, look(inputs[2]));
  } else {
    leave(dict, key ? Unfollowed::unknown : why_without_key(id));
  }
  wrote(node, id);
}

}  // namespace compatcheck::passes

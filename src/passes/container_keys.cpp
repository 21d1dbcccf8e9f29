// Dictionaries with keys that may not be there, and keys and places that only the running model knows.
#include <algorithm>
#include <array>

#include "ir/control_flow.h"
#include "passes/container_walk.h"
#include "passes/lifetimes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

bool negates(const ir::Value* value, const ir::Value* other) {
  const ir::Node* node = value->producer();
  return node && node->is("aten::__not__") && node->input(0) == other;
}

bool is_number_constant(const ir::Constant& constant) { return constant.get<std::int64_t>() || constant.get<double>(); }

}  // namespace

// ---- Keys that may not be there

// Notes in a branch whether a key is in a dictionary, if the condition tests this.
void ContainerWalk::settle_keys(const ir::Value* condition, bool holds) {
  if (!keys_may_miss_) return;
  for (const CellId id : std::vector<CellId>(heap_.not_ended())) {
    for (std::size_t i = heap_.at(id).present.size(); i-- > 0;) {
      const ir::Value* present = heap_.at(id).present[i];
      if (!present) continue;
      const bool opposite = negates(condition, present) || negates(present, condition);
      if (present != condition && !opposite) continue;
      if (holds == opposite)
        heap_.change(id).erase(i);
      else
        heap_.change(id).be_there(i);
      if (heap_.at(id).present.empty()) break;
    }
  }
}

// Raises where `holds` is false, as Python does. The node is visited again, knowing that it holds.
void ContainerWalk::demand(ir::Value* holds, ir::Node* node) {
  ir::Node* end = ir::IfView(*empty_branch(holds, node, site_of(node))).else_block().return_node();
  raise_before(end, options_.exception, "KeyError", {}, *node);
  settle_keys(holds, true);
  note_keys(holds, true, node->owner());
  visit_next(node);
}

void ContainerWalk::write_key_that_may_be_there(ir::Node* node, CellId id, const ir::Constant& key, ir::Value* present) {
  if (node->inputs().size() == 2 && (node->is("aten::pop") || node->is("aten::Delete"))) return demand(present, node);
  if (node->inputs().size() != 3 || !(node->is("aten::setdefault") || node->is("aten::pop"))) leave(Abstract::of_cell(id));
  const Abstract item = *heap_.at(id).find(key);
  Abstract made = either(present, item, look(node->input(2)), node);
  Cell& cell = change(id, node);
  if (node->is("aten::setdefault"))
    cell.set(key, made);
  else
    cell.erase(static_cast<std::size_t>(cell.find(key) - cell.items.data()));
  give(node, std::move(made));
}

// ---- Keys that only the running model knows

// Whether the program knows here that the key is in the dictionary, which still has the keys that it had then.
bool ContainerWalk::is_there(const KeyTest& test, const ir::Node* node) const {
  const Cell& cell = heap_.at(test.dict);
  return std::ranges::any_of(there_, [&](const auto& known) {
    return known.first.dict == test.dict && known.first.key == test.key && encloses(known.second, *node) &&
           same_keys(known.first.keys, cell.keys) && (!cell.is_table() || known.first.version == cell.version);
  });
}

// Notes the keys that are in a dictionary wherever `block` runs, as `condition` holds there, or doesn't.
void ContainerWalk::note_keys(const ir::Value* condition, bool holds, const ir::Block* block) {
  work(key_tests_.size() / 16);
  for (const auto& [answer, test] : key_tests_)
    if (holds ? answer == condition : negates(condition, answer)) there_.emplace_back(test, block);
}

// Whether a key that isn't known can be looked for: all keys are numbers, and none may be missing.
bool ContainerWalk::takes_open_key(CellId dict, const ir::Value* key) const {
  const Cell& cell = heap_.at(dict);
  if (cell.is_table()) return false;
  return cell.is_settled() && !cell.keys.empty() && is_number(key->type()) && std::ranges::all_of(cell.keys, is_number_constant);
}

Unfollowed ContainerWalk::why_without_key(CellId dict) const {
  return is_number(heap_.origin(dict).type->elements[0]) ? Unfollowed::unknown : Unfollowed::of_keys;
}

ir::Value* ContainerWalk::list_of_keys(CellId dict, ir::Node* place) {
  const Cell& cell = heap_.at(dict);
  return cell.is_table() ? leaf(cell.items[0], place) : list_of(cell.keys, place);
}

// The place of a key that is there, among the keys.
ir::Value* ContainerWalk::place_of_key(CellId dict, ir::Value* key, ir::Node* place) {
  ir::Value* keys = list_of_keys(dict, place);
  return computed(place, "aten::index", std::array{keys, key}, ir::simple_type(ir::TypeKind::integer));
}

ir::Value* ContainerWalk::is_key_of(CellId dict, ir::Value* key, ir::Node* place) {
  ir::Value* keys = list_of_keys(dict, place);
  ir::Value* answer = is_empty_list(keys)
                          ? constant_before(place, {false})
                          : computed(place, "aten::__contains__", std::array{keys, key}, ir::simple_type(ir::TypeKind::boolean));
  key_tests_[answer] = {dict, key, heap_.at(dict).keys, heap_.at(dict).version};
  return answer;
}

Abstract ContainerWalk::item_of(CellId dict, ir::Value* key, ir::Node* place) {
  const Cell cell = heap_.at(dict);
  ir::Value* code = place_of_key(dict, key, place);
  const ir::TypeRef type = heap_.origin(dict).type->elements[1];
  if (is_number(type)) {
    std::vector<ir::Value*> items;
    for (const Abstract& item : cell.items) items.push_back(leaf(item, place));
    const ir::TypeRef list_type = ir::list_of(type);
    ir::Value* list = node_before(place, "prim::ListConstruct", items, {&list_type, 1})->output();
    return Abstract::of(computed(place, "aten::__getitem__", std::array{list, code}, type));
  }
  return item_at(code, Abstract::of_cell(dict), place);
}

// One of a container's items, of which only the running model knows which: each that it may be shares what is written to it.
Abstract ContainerWalk::item_at(ir::Value* code, const Abstract& container, ir::Node* place) {
  const std::vector<Abstract> items = heap_.at(*container.cell).items;
  if (std::ranges::all_of(items, is_label)) return Abstract::of_choice(code, items, site_of(place));
  if (items.size() > most_ways) leave(container);
  Abstract found = items.back();
  for (std::size_t i = items.size() - 1; i-- > 0;)
    found = either(is_place(code, i, place), Abstract(items[i]), Abstract(found), place);
  return found;
}

// The container's items after a write at a place that isn't known.
std::vector<Abstract> ContainerWalk::with_item_at(ir::Value* code, CellId container, const Abstract& item, ir::Node* place) {
  std::vector<Abstract> items = heap_.at(container).items;
  if (items.size() > most_ways) leave(Abstract::of_cell(container));
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = either(is_place(code, i, place), item, Abstract(items[i]), place);
  return items;
}

// An index, which may count from the end, as a place.
ir::Value* ContainerWalk::place_in(std::size_t size, ir::Value* index, ir::Node* place) {
  std::vector<ir::Constant> places;
  for (std::size_t i = 0; i < size; ++i) places.push_back({static_cast<std::int64_t>(i)});
  return number_of(index, places, place);
}

ir::Value* ContainerWalk::is_place(ir::Value* code, std::size_t place_in_list, ir::Node* place) {
  ir::Value* number = constant_before(place, {static_cast<std::int64_t>(place_in_list)});
  return computed(place, "aten::eq", std::array{code, number}, ir::simple_type(ir::TypeKind::boolean));
}

void ContainerWalk::read_open_key(ir::Node* node, CellId dict) {
  ir::Value* key = node->input(1);
  if (node->is("aten::__contains__")) return give(node, Abstract::of(is_key_of(dict, key, node)));
  if (node->is("aten::get")) return get_open_key(node, dict);
  if (!is_there({dict, key, {}}, node)) return demand(is_key_of(dict, key, node), node);
  if (heap_.at(dict).is_table()) return read_value(node, dict);
  give(node, item_of(dict, key, node));
}

// d.get(key, x) → d[key] if key in d else x, which is visited next.
void ContainerWalk::get_open_key(ir::Node* node, CellId dict) {
  ir::Value* present = is_key_of(dict, node->input(1), node);
  ir::Node* branch = node_before(node, "prim::If", {&present, 1}, {&node->output()->type(), 1});
  ir::Block *there = branch->add_block(), *missing = branch->add_block();
  ir::Value* item = computed(there->return_node(), "aten::__getitem__", std::array{node->input(0), node->input(1)},
                             heap_.origin(dict).type->elements[1]);
  labels_[branch] = labels_[item->producer()] = site_of(node);
  there->add_output(item);
  missing->add_output(node->inputs().size() == 3 ? node->input(2) : constant_before(missing->return_node(), {}));
  visit_instead(node, branch);
}

// d[key] = x of a key that is there.
void ContainerWalk::set_open_key(ir::Node* node, CellId dict) {
  ir::Value* key = node->input(1);
  if (!is_there({dict, key, {}}, node)) {
    if (!make_table(dict, node)) leave(Abstract::of_cell(dict), why_without_key(dict));
    return write_table(node, dict);
  }
  std::vector<Abstract> items = with_item_at(place_of_key(dict, key, node), dict, look(node->input(2)), node);
  change(dict, node).items = std::move(items);
  wrote(node, dict);
}

}  // namespace compatcheck::passes

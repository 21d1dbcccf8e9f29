// Operators that read lists, dictionaries and tuples that are followed.
#include <algorithm>
#include <array>
#include <utility>

#include "ir/slice_places.h"
#include "passes/container_walk.h"
#include "passes/effects.h"
#include "passes/evaluate.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

void ContainerWalk::tuple_read(ir::Node* node) {
  const Abstract tuple = look(node->input(0));
  if (!tuple.is_tuple()) return visit_other(node);
  const std::vector<Abstract>& parts = *tuple.parts;
  if (node->is("prim::TupleUnpack")) {
    if (parts.size() != node->outputs().size()) return visit_other(node);
    return give_each(node, parts);
  }
  if (node->is("prim::TupleIndex")) {
    const auto at = position(node->input(1), parts.size());
    return at ? give(node, parts[*at]) : visit_other(node);
  }
  const ir::Constant *begin = node->attribute("beg"), *end = node->attribute("end");
  if (!begin || !end || !begin->get<std::int64_t>() || !end->get<std::int64_t>()) return visit_other(node);
  std::vector<Abstract> slice;
  for (const std::int64_t i :
       ir::slice_places(static_cast<std::int64_t>(parts.size()), *begin->get<std::int64_t>(), *end->get<std::int64_t>(), 1))
    slice.push_back(parts[static_cast<std::size_t>(i)]);
  const ir::TypeRef& type = node->output()->type();
  if (!ir::is(type, ir::TypeKind::tuple) || type->elements.size() != slice.size()) return visit_other(node);
  give(node, Abstract::of_parts(std::move(slice), type));
}

void ContainerWalk::list_unpack(ir::Node* node) {
  const Cell* list = known_list(look(node->input(0)));
  if (!list || list->items.size() != node->outputs().size()) return visit_other(node);
  if (!list->items.empty() && list->items[0].value == node->output(0)) return;  // the list's items are already these outputs
  give_each(node, std::vector<Abstract>(list->items));
}

void ContainerWalk::give_each(ir::Node* node, const std::vector<Abstract>& results) {
  ++changes_;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].followed())
      know(node->output(i), results[i]);
    else
      replace(node->output(i), results[i].value);
  drop(node);
}

// Handles torch.tensor of a list of numbers.
void ContainerWalk::tensor(ir::Node* node) {
  const Abstract from = look(node->input(0));
  if (!(from.cell && heap_.at(*from.cell).layout && read_columns(node, *from.cell))) visit_other(node);
}

// A matrix as a list of its rows.
void ContainerWalk::to_list(ir::Node* node) {
  const auto* rank = node->inputs().size() == 3 ? known<std::int64_t>(node->input(1)) : nullptr;
  const ir::TypeRef type = node->output()->type();
  const auto layout = ir::is(type, ir::TypeKind::list) ? Layout::of_type(type->elements[0]) : std::nullopt;
  if (!rank || *rank != 2 || !layout || layout->kind != Layout::Kind::numbers || is_left_out(node->output()))
    return visit_other(node);
  put_operands(node);
  const std::array<ir::Value*, 2> inputs{as_numbers(node->input(0), layout->type, node),
                                         constant_before(node, {std::int64_t{0}})};
  give_columns(node, *layout, {computed(node, "aten::unbind", inputs, ir::list_of(ir::tensor_type()))}, {});
}

// There are as many parts as sizes.
void ContainerWalk::split(ir::Node* node) {
  const Cell* sizes = node->inputs().size() > 1 ? known_list(look(node->input(1))) : nullptr;
  if (!sizes || is_left_out(node->output()) || sizes->items.size() > most_items ||
      !spend(options_.budget.listed, sizes->items.size()) || !ir::is_tensor_list(node->output()->type()))
    return visit_other(node);
  const std::vector<ir::TypeRef> types(sizes->items.size(), node->output()->type()->elements[0]);
  put_operands(node);
  ir::Node* unpack = node->next();
  const bool there = unpack && unpack->is("prim::ListUnpack") && unpack->inputs().size() == 1 &&
                     unpack->input(0) == node->output() && unpack->outputs().size() == types.size();
  if (!there) {
    unpack = graph_.create("prim::ListUnpack", {&node->outputs()[0], 1});
    for (const ir::TypeRef& type : types) unpack->add_output(type);
    unpack->copy_origin(*node);
    unpack->insert_after(node);
  }
  Cell parts{.made = node->output()};
  for (ir::Value* part : unpack->outputs()) parts.items.push_back(Abstract::of(part));
  know(node->output(),
       Abstract::of_cell(add_cell(std::move(parts), node->output()->type(), {site_of(node->output())}, node->output())));
}

void ContainerWalk::item(ir::Node* node) {
  if (node->inputs().size() < 2) return visit_other(node);
  const Abstract from = look(node->input(0));
  if (!from.cell) return visit_other(node);
  const Cell& cell = heap_.at(*from.cell);
  if (cell.kind == Cell::Kind::dict) {
    if (cell.is_table()) return read_table(node, *from.cell);
    const auto key = as_constant(look(node->input(1)));
    if (!key && may_become_table(*from.cell) && cell.keys.empty()) {
      if (node->is("aten::get"))
        return give(node, node->inputs().size() == 3 ? look(node->input(2)) : Abstract::of(constant_before(node, {})));
      raise_before(node, options_.exception, "KeyError", {}, *node);
      return give(node, Abstract::of(node_before(node, "prim::Uninitialized", {}, output_types(*node))->output()));
    }
    if (!key && takes_open_key(*from.cell, node->input(1))) return read_open_key(node, *from.cell);
    if (!key && !cell.is_settled() && make_table(*from.cell, node)) return read_table(node, *from.cell);
    if (!key || !is_key(*key)) leave(from, why_without_key(*from.cell));
    const Abstract* found = cell.find(*key);
    if (ir::Value* present = found ? cell.presence(found) : nullptr) {
      if (!node->is("aten::get")) return demand(present, node);
      if (is_left_out(node->output())) leave(from);
      if (node->inputs().size() == 3) return give(node, either(present, Abstract(*found), look(node->input(2)), node));
      return give(node, Abstract::of_option(present, Abstract(*found), site_of(node->output())));
    }
    if (found) return give(node, Abstract(*found));
    if (!node->is("aten::get")) return visit_other(node);  // it raises
    return give(node, node->inputs().size() == 3 ? look(node->input(2)) : Abstract::of(constant_before(node, {})));
  }
  if (cell.whole) return cell.layout && read_columns(node, *from.cell) ? void() : visit_other(node);
  if (const auto at = position(node->input(1), cell.items.size())) return give(node, Abstract(cell.items[*at]));
  const bool labels = std::ranges::all_of(cell.items, is_choice);
  if (cell.items.empty() || (!labels && has_whole_items(heap_.origin(*from.cell).type)))
    return read_columns(node, *from.cell) ? void() : visit_other(node);
  if (is_left_out(node->output())) leave(from);
  if (cell.items.size() > most_ways && read_columns(node, *from.cell)) return;
  if (cell.items.size() == 1) return give(node, Abstract(cell.items.front()));
  ir::Value* code = place_in(cell.items.size(), node->input(1), node);
  give(node, item_at(code, from, node));
}

void ContainerWalk::length(ir::Node* node) {
  const Abstract from = node->inputs().size() == 1 ? look(node->input(0)) : Abstract();
  if (!from.cell) return visit_other(node);
  const Cell cell = heap_.at(*from.cell);
  if (cell.is_table()) return read_table(node, *from.cell);
  if (cell.whole) return cell.layout && read_columns(node, *from.cell) ? void() : visit_other(node);
  const auto missing = std::ranges::count_if(cell.present, [](const ir::Value* present) { return present != nullptr; });
  ir::Value* count = constant_before(node, {static_cast<std::int64_t>(cell.items.size()) - missing});
  for (ir::Value* present : cell.present)
    if (present) {
      ir::Value* one = computed(node, "aten::Int", {&present, 1}, count->type());
      count = computed(node, "aten::add", std::array{count, one}, count->type());
    }
  give(node, Abstract::of(count));
}

void ContainerWalk::slice(ir::Node* node) {
  if (node->inputs().size() != 4) return visit_other(node);
  const Abstract from = look(node->input(0));
  const Cell* list = known_list(from);
  if (!list) return from.cell ? visit_cut(node, from) : visit_other(node);
  const auto* step = known<std::int64_t>(node->input(3));
  const ir::Constant *start = ir::constant_of(node->input(1)), *end = ir::constant_of(node->input(2));
  const auto is_bound = [](const ir::Constant* at) { return at && (at->is_none() || at->get<std::int64_t>()); };
  if (!step || *step == 0 || !is_bound(start) || !is_bound(end)) return visit_cut(node, from);
  const auto bound = [](const ir::Constant* at) {
    return at->is_none() ? std::nullopt : std::optional(*at->get<std::int64_t>());
  };
  std::vector<Abstract> part;
  for (const std::int64_t i : ir::slice_places(static_cast<std::int64_t>(list->items.size()), bound(start), bound(end), *step))
    part.push_back(list->items[static_cast<std::size_t>(i)]);
  give_list(node, std::move(part));
}

// A new list of unknown items of this list. Inner lists must stay the same objects.
void ContainerWalk::visit_cut(ir::Node* node, const Abstract& list) {
  if (list.cell && heap_.at(*list.cell).kind == Cell::Kind::list && read_columns(node, *list.cell)) return;
  leave_nested(list);
  visit_other(node);
}

void ContainerWalk::leave_nested(const Abstract& list) const {
  if (list.cell && !is_plain_element(heap_.origin(*list.cell).type->elements[0])) leave(list);
}

void ContainerWalk::sum(ir::Node* node) {
  if (node->inputs().size() != 2 || !is_kind(node->output(), ir::TypeKind::list)) return visit_other(node);
  const Abstract a = look(node->input(0)), b = look(node->input(1));
  const Cell *one = known_list(a), *other = known_list(b);
  if (!one || !other) {
    if (a.cell && b.cell && add_columns(node, *a.cell, *b.cell)) return;
    for (ir::Value* input : node->inputs()) leave_nested(look(input));
    return visit_other(node);
  }
  std::vector<Abstract> both(one->items);
  both.insert(both.end(), other->items.begin(), other->items.end());
  give_list(node, std::move(both));
}

void ContainerWalk::repeat(ir::Node* node) {
  if (node->inputs().size() != 2 || !is_kind(node->output(), ir::TypeKind::list)) return visit_other(node);
  const bool first = is_kind(node->input(0), ir::TypeKind::list);
  const Abstract from = look(node->input(first ? 0 : 1));
  const Cell* list = known_list(from);
  const auto* times = known<std::int64_t>(node->input(first ? 1 : 0));
  if (!list || !times) return visit_cut(node, from);
  if (!holds_memory(node->output()->type()->elements[0]) && as_constant(from)) return visit_other(node);  // it is computed later
  if (list->items.empty() || *times <= 0) return give_list(node, {});
  if (*times > static_cast<std::int64_t>(std::min(most_items, options_.budget.listed) / list->items.size()))
    return visit_cut(node, from);
  std::vector<Abstract> all;
  for (std::int64_t i = 0; i < *times; ++i) all.insert(all.end(), list->items.begin(), list->items.end());
  give_list(node, std::move(all));
}

// A copy of a list, or of a dictionary; list(dict) gives the keys.
void ContainerWalk::copy(ir::Node* node) {
  if (node->inputs().empty() && is_kind(node->output(), ir::TypeKind::list)) return give_list(node, {});
  const Abstract from = node->inputs().size() == 1 ? look(node->input(0)) : Abstract();
  if (!from.cell) return visit_other(node);
  Cell cell = heap_.at(*from.cell);
  if (cell.kind == Cell::Kind::object || is_left_out(node->output())) return visit_holder(node, cell.items);
  const bool dict = is_kind(node->output(), ir::TypeKind::dict);
  if (!dict && !is_kind(node->output(), ir::TypeKind::list)) return visit_other(node);
  if (dict != (cell.kind == Cell::Kind::dict)) return dict_view(node);
  if (cell.is_table()) return view_table(node, *from.cell, cell);
  if (cell.layout) return read_columns(node, *from.cell) ? void() : visit_other(node);
  if (cell.whole && !is_plain_element(heap_.origin(*from.cell).type->elements[0])) return visit_other(node);
  if (!spend(options_.budget.listed, cell.items.size())) return visit_holder(node, cell.items);
  if (!cell.whole) cell.made = nullptr;
  give(node, new_container(node, std::move(cell)));
}

// any() of a list with a known True is True; all() of one with a known False is False.
void ContainerWalk::verdict(ir::Node* node) {
  const Cell* list = node->inputs().size() == 1 ? known_list(look(node->input(0))) : nullptr;
  if (!list) return visit_other(node);
  const bool decisive = node->is("aten::any");
  for (const Abstract& entry : list->items)
    if (const bool* flag = entry.followed() ? nullptr : known<bool>(entry.value); flag && *flag == decisive)
      return give(node, Abstract::of(constant_before(node, {decisive})));
  visit_other(node);
}

void ContainerWalk::contains(ir::Node* node) {
  const Abstract from = node->inputs().size() == 2 ? look(node->input(0)) : Abstract();
  if (!from.cell || heap_.at(*from.cell).kind != Cell::Kind::dict) return visit_other(node);
  if (heap_.at(*from.cell).is_table()) return read_table(node, *from.cell);
  const auto key = as_constant(look(node->input(1)));
  if (!key && takes_open_key(*from.cell, node->input(1))) return read_open_key(node, *from.cell);
  if (!key && may_become_table(*from.cell) && heap_.at(*from.cell).keys.empty())
    return give(node, Abstract::of(constant_before(node, {false})));
  if (!key && !heap_.at(*from.cell).is_settled() && make_table(*from.cell, node)) return read_table(node, *from.cell);
  if (!key || !is_key(*key)) leave(from, why_without_key(*from.cell));
  const Cell& cell = heap_.at(*from.cell);
  const Abstract* found = cell.find(*key);
  ir::Value* present = found ? cell.presence(found) : nullptr;
  give(node, Abstract::of(present ? present : constant_before(node, {found != nullptr})));
}

// The first that is equal, if all before it are known to differ.
std::optional<std::size_t> ContainerWalk::find(const std::vector<Abstract>& items, ir::Value* searched) {
  const auto constant = as_constant(look(searched));
  for (std::size_t i = 0; i < items.size() && constant; ++i) {
    const auto item = as_constant(items[i]);
    const auto equal = item ? values_equal(*item, *constant) : std::nullopt;
    if (!equal) return std::nullopt;
    if (*equal) return i;
  }
  return std::nullopt;
}

void ContainerWalk::index(ir::Node* node) {
  const Cell* list = node->inputs().size() == 2 ? known_list(look(node->input(0))) : nullptr;
  const auto found = list ? find(list->items, node->input(1)) : std::nullopt;
  if (!found) return visit_other(node);
  give(node, Abstract::of(constant_before(node, {static_cast<std::int64_t>(*found)})));
}

void ContainerWalk::sorted(ir::Node* node) {
  const Cell* list = node->inputs().size() == 1 ? known_list(look(node->input(0))) : nullptr;
  std::vector<Abstract> items = list ? list->items : std::vector<Abstract>();
  if (list && sort_constants(items)) return give_list(node, std::move(items));
  const Abstract from = node->inputs().empty() ? Abstract() : look(node->input(0));
  if (!(from.cell && needs_columns(node->output()->type()) && read_columns(node, *from.cell))) visit_other(node);
}

// Texts or ints, if all are known.
bool ContainerWalk::sort_constants(std::vector<Abstract>& items) {
  const auto all = [&](auto&& kind) {
    return std::ranges::all_of(items, [&](const Abstract& a) { return !a.followed() && kind(a.value); });
  };
  if (all([](const ir::Value* v) { return known<std::string>(v) != nullptr; }))
    std::ranges::stable_sort(items, {}, [](const Abstract& a) { return *known<std::string>(a.value); });
  else if (all([](const ir::Value* v) { return known<std::int64_t>(v) != nullptr; }))
    std::ranges::stable_sort(items, {}, [](const Abstract& a) { return *known<std::int64_t>(a.value); });
  else
    return false;
  return true;
}

void ContainerWalk::dict_view(ir::Node* node) {
  const Abstract from = node->inputs().size() == 1 ? look(node->input(0)) : Abstract();
  if (!from.cell || heap_.at(*from.cell).kind != Cell::Kind::dict || !is_kind(node->output(), ir::TypeKind::list))
    return visit_other(node);
  if (heap_.at(*from.cell).is_table() || !heap_.at(*from.cell).is_settled()) return view_dict(node, *from.cell);
  const bool values = node->is("aten::values"), pairs = node->is("aten::items");
  const Cell cell = heap_.at(*from.cell);
  std::vector<Abstract> list;
  for (std::size_t i = 0; i < cell.items.size(); ++i) {
    if (values) {
      list.push_back(cell.items[i]);
      continue;
    }
    const Abstract key = Abstract::of(constant_before(node, cell.keys[i]));
    list.push_back(pairs ? Abstract::of_parts({key, cell.items[i]}, node->output()->type()->elements[0]) : key);
  }
  give_list(node, std::move(list));
}

}  // namespace compatcheck::passes

// Values of the graph: the cell or the parts that a value stands for, and a value that holds what a cell holds.
#include <algorithm>

#include "passes/container_walk.h"
#include "passes/effects.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

CellId ContainerWalk::add_cell(Cell cell, const ir::TypeRef& type, std::set<Site> sites, const ir::Value* value) {
  const bool input = value && !value->producer();
  return heap_.add(std::move(cell), {ir::without_optional(type), std::move(sites), input ? value->name() : std::string(), value});
}

Abstract ContainerWalk::new_container(const ir::Node* node, Cell cell) {
  return Abstract::of_cell(add_cell(std::move(cell), node->output()->type(), {site_of(node->output())}));
}

bool ContainerWalk::existed(CellId id, const ir::Node& before, std::size_t cells) const {
  const ir::Value* value = heap_.origin(id).value;
  return value ? available_in(value, before.owner()) : id < cells;
}

void ContainerWalk::know(const ir::Value* value, Abstract abstract) {
  const auto name = [&](const auto& self, const Abstract& part) -> void {
    if (!has_cells(part)) return;
    work();
    if (part.cell) names_[*part.cell].push_back(value);
    if (part.parts)
      for (const Abstract& inner : *part.parts) self(self, inner);
  };
  name(name, abstract);
  known_[value] = std::move(abstract);
}

Abstract ContainerWalk::look(ir::Value* value) {
  if (const auto found = known_.find(value); found != known_.end()) return found->second;
  if (const ir::Constant* constant = ir::constant_of(value)) return look_at_constant(value, *constant);
  const ir::TypeRef& type = value->type();
  const bool list = ir::is(type, ir::TypeKind::list) && is_plain_element(type->elements[0]) && !is_undefined(value);
  if (!list || is_left_out(value)) return Abstract::of(value);
  know(value, Abstract::of_cell(add_cell({.whole = true, .made = value}, type, {site_of(value)}, value)));
  return known_.at(value);
}

// A constant's items become constants beside it.
Abstract ContainerWalk::look_at_constant(ir::Value* value, const ir::Constant& constant) {
  if (is_left_out(value)) return Abstract::of(value);
  std::size_t items = 0;
  const ir::Constant* path = value->producer()->attribute("path");
  const auto item = [&](const ir::Constant& inner, const ir::TypeRef& type) {
    ir::Value* made = constant_before(value->producer(), inner);
    if (path && holds_memory(made->type()))
      made->producer()->set_attribute("path", {*path->get<std::string>() + "." + std::to_string(items++)});
    if (type && !inner.is_none() && !inner.get<ir::TensorView>() && !inner.get<ir::ObjectConstant>()) made->set_type(type);
    labels_[made->producer()] = site_of(value);
    return look(made);
  };
  const auto* given = constant.get<ir::ListConstant>();
  const bool odd = given && !ir::is(ir::without_optional(value->type()), ir::TypeKind::list);
  const ir::TypeRef type = odd ? ir::list_of(given->element) : ir::without_optional(value->type());
  const auto element = [&](std::size_t i) { return i < type->elements.size() ? type->elements[i] : nullptr; };
  Cell cell{.made = value};
  if (const auto* list = constant.get<ir::ListConstant>()) {
    // Operators on long lists of numbers are evaluated as they are.
    constexpr std::size_t long_list = 64;
    const bool numbers = is_plain_element(list->element) && !holds_memory(list->element);
    work(list->items.size());
    if (numbers && (list->items.size() > long_list || !spend(options_.budget.listed, list->items.size()))) {
      cell.whole = true;
    } else {
      for (const ir::Constant& inner : list->items) cell.items.push_back(item(inner, list->element));
    }
  } else if (const auto* dict = constant.get<ir::DictConstant>()) {
    work(dict->items.size());
    cell.kind = Cell::Kind::dict;
    for (const auto& [key, inner] : dict->items) {
      cell.keys.push_back(key);
      cell.items.push_back(item(inner, dict->value));
    }
  } else if (const auto* tuple = constant.get<ir::TupleConstant>()) {
    work(tuple->items.size());
    std::vector<Abstract> parts;
    for (std::size_t i = 0; i < tuple->items.size(); ++i) parts.push_back(item(tuple->items[i], element(i)));
    know(value, Abstract::of_parts(std::move(parts), type, value));
    return known_.at(value);
  } else {
    return Abstract::of(value);
  }
  know(value, Abstract::of_cell(add_cell(std::move(cell), type, {site_of(value)}, value)));
  return known_.at(value);
}

const Cell* ContainerWalk::known_list(const Abstract& list) {
  if (!list.cell) return nullptr;
  const Cell& cell = heap_.at(*list.cell);
  return cell.kind == Cell::Kind::list && !cell.whole ? &cell : nullptr;
}

std::optional<ir::Constant> ContainerWalk::as_constant(const Abstract& abstract) const {
  if (abstract.value && !abstract.parts) {
    const ir::Constant* constant = ir::constant_of(abstract.value);
    return constant ? std::optional(*constant) : std::nullopt;
  }
  if (!abstract.cell) return std::nullopt;
  const Cell& cell = heap_.at(*abstract.cell);
  if (cell.kind != Cell::Kind::list) return std::nullopt;
  if (cell.whole) return cell.made ? as_constant(Abstract::of(cell.made)) : std::nullopt;
  if (!is_plain_element(heap_.origin(*abstract.cell).type->elements[0])) return std::nullopt;
  ir::ListConstant list{heap_.origin(*abstract.cell).type->elements[0], {}};
  for (const Abstract& item : cell.items) {
    auto constant = as_constant(item);
    if (!constant) return std::nullopt;
    list.items.push_back(*std::move(constant));
  }
  return ir::Constant{std::move(list)};
}

// Whether the value has what `abstract` holds now.
bool ContainerWalk::holds(const ir::Value* value, const Abstract& abstract) {
  if (abstract.present || abstract.code) return false;
  if (!abstract.followed()) return value == abstract.value;
  const Cell* cell = abstract.cell ? &heap_.at(*abstract.cell) : nullptr;
  const std::vector<Abstract>& items = cell ? cell->items : *abstract.parts;
  const bool nested = std::ranges::any_of(items, has_cells);
  if (cell && !nested && cell->made) return cell->made == value;
  const ir::Node* node = value->producer();
  if ((cell && (cell->whole || !cell->is_settled())) || !node) return false;
  if (!nested && !cell && value == abstract.value && node->is("prim::Constant")) return true;
  const bool dict = cell && cell->kind == Cell::Kind::dict;
  if (!node->is(!cell ? "prim::TupleConstruct" : dict ? "prim::DictConstruct" : "prim::ListConstruct")) return false;
  const std::size_t stride = dict ? 2 : 1;
  if (node->inputs().size() != items.size() * stride) return false;
  work(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const ir::Constant* key = dict ? ir::constant_of(node->input(2 * i)) : nullptr;
    if ((dict && (!key || !ir::equal(*key, cell->keys[i]))) || !holds(node->input(stride * i + stride - 1), items[i]))
      return false;
  }
  return true;
}

ir::Value* ContainerWalk::leaf(const Abstract& abstract, ir::Node* place) {
  if (!abstract.followed()) return abstract.value;
  if (abstract.present) return option(abstract, place);
  if (abstract.code) return spelled(abstract, place);
  if (abstract.parts) {
    if (abstract.value && holds(abstract.value, abstract)) return abstract.value;
    std::vector<ir::Value*> parts;
    for (const Abstract& part : *abstract.parts) parts.push_back(leaf(part, place));
    return node_before(place, "prim::TupleConstruct", parts, {&abstract.type, 1})->output();
  }
  if (gives_outputs_) settle(*abstract.cell, place);
  const Cell& cell = heap_.at(*abstract.cell);
  if (cell.made && holds(cell.made, abstract)) return cell.made;
  ir::Value* made = make(cell, heap_.origin(*abstract.cell), place);
  heap_.change(*abstract.cell).made = made;
  return made;
}

ir::Value* ContainerWalk::make(const Cell& cell, const CellOrigin& origin, ir::Node* place) {
  if ((cell.layout || cell.is_table()) && gives_outputs_) return spread_out(cell, origin, place);
  if (cell.layout || cell.is_table()) leave(origin.sites);
  if (cell.whole) return cell.made;
  if (cell.kind == Cell::Kind::object && gives_outputs_) return spread_object(cell, origin, place);
  if (cell.kind == Cell::Kind::object || !cell.is_settled()) leave(origin.sites);
  if (!spend(options_.budget.listed, cell.items.size())) leave(origin.sites);
  const bool dict = cell.kind == Cell::Kind::dict;
  std::vector<ir::Value*> items;
  items.reserve(cell.items.size() * (dict ? 2 : 1));
  for (std::size_t i = 0; i < cell.items.size(); ++i) {
    if (dict) items.push_back(constant_before(place, cell.keys[i]));
    items.push_back(leaf(cell.items[i], place));
  }
  return node_before(place, dict ? "prim::DictConstruct" : "prim::ListConstruct", items, {&origin.type, 1})->output();
}

Abstract ContainerWalk::as_parts(const Abstract& abstract, ir::Node* place) {
  const ir::TypeRef& type = abstract.value->type();
  ir::Node* unpack =
      is_undefined(abstract.value) ? nullptr : node_before(place, "prim::TupleUnpack", {&abstract.value, 1}, type->elements);
  std::vector<Abstract> parts;
  for (std::size_t i = 0; i < type->elements.size(); ++i) {
    ir::Value* part =
        unpack ? unpack->output(i) : node_before(place, "prim::Uninitialized", {}, {&type->elements[i], 1})->output();
    known_[part] = Abstract::of(part);
    parts.push_back(Abstract::of(part));
  }
  return Abstract::of_parts(std::move(parts), type);
}

}  // namespace compatcheck::passes

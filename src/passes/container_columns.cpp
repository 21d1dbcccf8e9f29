// Lists of tuples, lists, dictionaries, objects or texts whose length only the running model knows: ONNX has lists of tensors and
// vectors of numbers alone. Such a list is kept in columns, one for each number or tensor of an item. What is read from it is a
// copy that knows its place, and a write to the copy is a write to that place.
#include <algorithm>
#include <array>
#include <charconv>

#include "ir/value_name.h"
#include "passes/container_walk.h"
#include "passes/effects.h"
#include "passes/list_form.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// Whether an output can have this layout: its keys can be names, and it has no choices, tables or inner lists.
bool has_names(const Layout& layout) {
  const auto is_name = [](const ir::Constant& key) { return key.get<std::string>() || key.get<std::int64_t>(); };
  return layout.kind != Layout::Kind::choice && layout.kind != Layout::Kind::table && layout.kind != Layout::Kind::list &&
         std::ranges::all_of(layout.keys, is_name) && std::ranges::all_of(layout.parts, has_names);
}

}  // namespace

// ---- What is in a list and has names, too

void ContainerWalk::for_each_cell(const Abstract& item, const std::function<void(CellId)>& visit) {
  work();
  const Nesting nesting(nested_);
  if (nesting.is_deep()) leave(item);
  if (item.parts)
    for (const Abstract& part : *item.parts) for_each_cell(part, visit);
  if (!item.cell) return;
  visit(*item.cell);
  for (const Abstract& inner : std::vector<Abstract>(heap_.at(*item.cell).items)) for_each_cell(inner, visit);
}

// Returns the identities of the items of a list that needs columns.
std::set<Identity> ContainerWalk::elements_of(CellId list) {
  std::set<Identity> found;
  const Cell cell = heap_.at(list);
  if (cell.is_table()) return elements_of(*cell.items[1].cell);
  if (!needs_columns(heap_.origin(list).type)) return found;
  found = heap_.elements(list);
  for (const Abstract& item : cell.items)
    for_each_cell(item, [&](CellId id) {
      for (const auto& [identity, same] : heap_.identities(id)) found.insert(identity);
    });
  return found;
}

// Whether one object may stand in two places of the list, or twice in an item.
bool ContainerWalk::repeats(CellId list) {
  const Cell cell = heap_.at(list);
  if (cell.is_table()) return repeats(*cell.items[1].cell);
  bool again = heap_.repeats(list);
  std::set<Identity> met;
  for (const Abstract& item : cell.items)
    for_each_cell(item, [&](CellId id) {
      for (const auto& [identity, same] : heap_.identities(id)) again = !met.insert(identity).second || again;
    });
  return again;
}

// Notes that an item that a list in columns gets may live on under another name, or in another list.
void ContainerWalk::hold(CellId list, const Abstract& item, ir::Node* node, const Placement* own) {
  std::set<Identity> met;
  std::set<CellId> visited;
  for_each_cell(item, [&](CellId id) {
    if (!visited.insert(id).second) heap_.set_repeats(list);
    const auto placed = placements_.find(id);
    if (own && placed != placements_.end() && placed->second.get() == own) return;
    std::set<Identity> identities;
    for (const auto& [identity, same] : heap_.identities(id)) {
      if (!met.insert(identity).second || heap_.elements(list).contains(identity)) heap_.set_repeats(list);
      identities.insert(identity);
    }
    const auto sharing = heap_.sharing(id);
    const bool lives_on = is_live(id, node) || std::ranges::any_of(sharing, [&](CellId other) { return is_live(other, node); });
    if (lives_on || !sharing.empty() || !heap_.lists_that_may_hold(id).empty()) heap_.add_elements(list, identities);
  });
}

// A list that is kept in columns gets the items of another one, too, or may have them instead.
void ContainerWalk::hold_items_of(CellId from, CellId list) {
  const std::set<Identity> more = elements_of(from);
  const bool meet = std::ranges::any_of(more, [&](Identity identity) { return heap_.elements(list).contains(identity); });
  if (meet || repeats(from)) heap_.set_repeats(list);
  heap_.add_elements(list, more);
}

// Notes that an item that was read from a list stands at its place until the places change.
void ContainerWalk::place_item(CellId list, ir::Value* index, const Abstract& item, const ir::Block* block) {
  const auto placement = std::make_shared<const Placement>(Placement{list, index, heap_.at(list).version, item, block});
  for_each_cell(item, [&](CellId id) { placements_[id] = placement; });
}

// Returns the items of `before` that still stand at their places.
ContainerWalk::Placements ContainerWalk::standing(const Placements& before) const {
  Placements found;
  for (const auto& [id, old] : before) {
    const auto now = placements_.find(id);
    if (now != placements_.end() && now->second->version == heap_.at(now->second->list).version) found.insert(*now);
  }
  return found;
}

// Returns the items that stand at one place after both branches of an If.
ContainerWalk::Placements ContainerWalk::in_both(const Placements& one, const Placements& other) {
  Placements found;
  for (const auto& [id, placement] : one) {
    const auto there = other.find(id);
    if (there != other.end() && there->second->list == placement->list && there->second->index == placement->index)
      found.emplace(id, placement);
  }
  return found;
}

// After an If, its lists have new versions.
void ContainerWalk::settle_placements() {
  std::map<std::shared_ptr<const Placement>, std::shared_ptr<const Placement>> settled;
  for (auto& [id, placement] : placements_) {
    auto& now = settled[placement];
    if (!now) {
      now = std::make_shared<const Placement>(
          Placement{placement->list, placement->index, heap_.at(placement->list).version, placement->item, placement->block});
    }
    placement = now;
  }
}

// A write to `id` must reach the list that it was read from, and can't reach another one.
void ContainerWalk::reach_lists(CellId id, const ir::Node* writer) {
  const auto found = placements_.find(id);
  const Placement* placement = found == placements_.end() ? nullptr : found->second.get();
  if (placement && (placement->version != heap_.at(placement->list).version || !encloses(placement->block, *writer)))
    placement = nullptr;
  if (placement) to_write_back_.push_back(found->second);
  for (const CellId list : heap_.lists_that_may_hold(id)) {
    if ((placement && placement->list == list && !heap_.repeats(list)) || !is_live(list, writer)) continue;
    std::set<Site> sites = heap_.origin(id).sites;
    sites.insert(heap_.origin(list).sites.begin(), heap_.origin(list).sites.end());
    leave(std::move(sites), Unfollowed::of_names);
  }
}

void ContainerWalk::write_back(ir::Node* place) {
  while (!to_write_back_.empty()) {
    const std::shared_ptr<const Placement> placement = to_write_back_.back();
    const auto [list, index, version, item, block] = *placement;
    to_write_back_.pop_back();
    Layout layout = *heap_.at(list).layout;
    const auto now = layout_of(item);
    if (!now || !widen(layout, *now)) leave(heap_.origin(list).sites);
    std::vector<ir::Value*> columns = columns_of(heap_.at(list), heap_.origin(list).sites, layout, place), leaves;
    add_leaves(layout, item, place, leaves);
    columns = with_leaves_at(columns, layout, index, leaves, place);
    ir::Node* writer = columns.front()->producer();
    change(list, writer);
    set_columns(list, layout, std::move(columns));
    hold(list, item, writer, placement.get());
    // Other copies of the item are not what stands there now.
    const auto now_placed = std::make_shared<const Placement>(Placement{list, index, heap_.at(list).version, item, block});
    for_each_cell(item, [&](CellId id) {
      if (const auto found = placements_.find(id); found != placements_.end() && found->second == placement)
        found->second = now_placed;
    });
  }
}

// ---- Operators

ContainerWalk::ChangedColumn ContainerWalk::changed_column(ir::Node* place, const std::string& op,
                                                           const std::vector<ir::Value*>& inputs) {
  ir::Value* column = inputs[0];
  const bool pops = op == "aten::pop";
  ir::Node* node =
      node_before(place, op, inputs, pops ? std::span(&element_of(column->type()), 1) : std::span<const ir::TypeRef>());
  ir::Value* taken = pops ? node->output() : nullptr;
  ir::Value* list = take_list_form(node, column, registry_);
  return {list, taken};
}

// l.append(x), l[i] = x and the like, column by column. False if the list isn't one that needs columns, or can't have them.
bool ContainerWalk::write_columns(ir::Node* node, CellId id) {
  const ir::TypeRef type = heap_.origin(id).type;
  const auto inputs = std::vector<ir::Value*>(node->inputs().begin(), node->inputs().end());
  if (!needs_columns(type) || (node->is("aten::sort") ? inputs.size() > 2 : !has_list_form(*node))) return false;
  const bool takes_list = node->is("aten::extend") || node->is("aten::add_");
  const bool takes_item = node->is("aten::append") || node->is("aten::insert") || node->is("aten::_set_item");
  Cell more;  // holds the items that are added
  if (takes_item) more.items.push_back(look(inputs.back()));
  const Abstract other = takes_list ? look(inputs[1]) : Abstract();
  if (takes_list && !other.cell) return false;
  if (takes_list) more = heap_.at(*other.cell);
  auto layout = joint_layout(heap_.at(id), more, type);
  if (!layout || (heap_.at(id).whole && !heap_.at(id).layout) || node->is("aten::remove")) return false;
  if (node->is("aten::sort")) return sort_columns(node, id);
  const bool ragged = has_lists(*layout), sets = ragged && node->is("aten::_set_item"), adds = ragged && node->is("aten::append");
  if (ragged && !sets && !adds && !takes_list && !node->is("aten::clear")) return false;
  std::vector<ir::Value*> columns = columns_of(heap_.at(id), heap_.origin(id).sites, *layout, node), leaves;
  if (takes_item) add_leaves(*layout, more.items[0], node, leaves);
  if (takes_list) leaves = columns_of(more, heap_.origin(*other.cell).sites, *layout, node);
  const bool moves = !node->is("aten::append") && !takes_list;
  std::vector<ir::Value*> taken;
  if (sets) columns = with_leaves_at(columns, *layout, from_front(inputs[1], columns[0], node), leaves, node);
  if (adds) columns = with_leaves_added(columns, *layout, leaves, node);
  for (std::size_t i = 0; i < columns.size() && !sets && !adds; ++i) {
    std::vector<ir::Value*> operands = inputs;
    operands[0] = columns[i];
    if (!leaves.empty()) operands.back() = leaves[i];
    const ChangedColumn made = changed_column(node, node->op(), operands);
    columns[i] = made.list;
    if (made.taken) taken.push_back(made.taken);
  }
  for (const Abstract& item : std::vector<Abstract>(heap_.at(id).items)) hold(id, item, node);
  if (takes_item) hold(id, more.items[0], node);
  if (node->is("aten::mul_")) heap_.set_repeats(id);
  if (takes_list) hold_items_of(*other.cell, id);
  const std::uint64_t version = heap_.at(id).version;
  change(id, node);
  set_columns(id, *layout, std::move(columns));
  if (!moves) heap_.change(id).version = version;
  if (taken.empty()) return wrote(node, id), true;
  std::span<ir::Value* const> left = taken;
  give(node, item_from(*layout, left, heap_.elements(id), node));
  return true;
}

// The items in another order.
std::vector<ir::Value*> ContainerWalk::in_order(const std::vector<ir::Value*>& columns, ir::Value* order, ir::Node* place) {
  std::vector<ir::Value*> made;
  for (ir::Value* column : columns) {
    const std::array<ir::Value*, 3> inputs{vector_of(column, place), constant_before(place, {std::int64_t{0}}), order};
    made.push_back(numbers_of(computed(place, "aten::index_select", inputs, ir::tensor_type()), column->type(), place));
  }
  return made;
}

// Tuples are compared place by place: the last place is sorted first, and each sort keeps the order of equal ones.
std::optional<std::vector<ir::Value*>> ContainerWalk::sorted_columns(const Cell& list, bool backwards, ir::Node* place) {
  const auto is_numbers = [](const ir::Value* column) { return is_number(element_of(column->type())); };
  const auto is_value = [](const Layout& part) { return part.kind == Layout::Kind::value; };
  if (list.layout->kind != Layout::Kind::tuple || !std::ranges::all_of(list.layout->parts, is_value) ||
      !std::ranges::all_of(list.columns, is_numbers))
    return std::nullopt;
  std::vector<ir::Value*> columns = list.columns;
  for (std::size_t i = columns.size(); i-- > 0;) {
    const std::array<ir::Value*, 4> inputs{vector_of(columns[i], place), constant_before(place, {true}),
                                           constant_before(place, {std::int64_t{-1}}), constant_before(place, {backwards})};
    const std::array<ir::TypeRef, 2> types{ir::tensor_type(), ir::tensor_type()};
    ir::Node* sort = resolved_node(place, "aten::sort", inputs, types);
    columns = in_order(columns, sort->output(1), place);
  }
  return columns;
}

bool ContainerWalk::sort_columns(ir::Node* node, CellId id) {
  const bool* backwards = node->inputs().size() == 2 ? known<bool>(node->input(1)) : nullptr;
  if ((node->inputs().size() == 2 && !backwards) || !keep_in_columns(id, node)) return false;
  auto columns = sorted_columns(heap_.at(id), backwards && *backwards, node);
  if (!columns) return false;
  change(id, node);
  set_columns(id, *heap_.at(id).layout, *std::move(columns));
  wrote(node, id);
  return true;
}

// A new list of columns; its items may be what those of `from` are.
void ContainerWalk::give_columns(ir::Node* node, const Layout& layout, std::vector<ir::Value*> columns,
                                 const std::vector<CellId>& from) {
  const CellId id = add_cell({}, node->output()->type(), {site_of(node->output())});
  for (const CellId list : from) hold_items_of(list, id);
  if (node->is("aten::mul")) heap_.set_repeats(id);
  set_columns(id, layout, std::move(columns));
  give(node, Abstract::of_cell(id));
}

// Handles an operator that reads or copies a list that is kept in columns, or must be. False if it isn't such an operator, or if
// the list can't be kept so.
bool ContainerWalk::read_columns(ir::Node* node, CellId id) {
  if (is_left_out_result(node)) return false;
  Cell list = heap_.at(id);
  const ir::TypeRef type = heap_.origin(id).type;
  if (!list.whole && needs_columns(type) &&
      is_plain_element(type->elements[0])) {  // nobody can write to its items: it stays known
    auto layout = layout_of_items(list, type);
    if (!layout) return false;
    list.columns = columns_of(list, heap_.origin(id).sites, *layout, node);
    list.layout = std::make_shared<const Layout>(*std::move(layout));
  } else if (!keep_in_columns(id, node)) {
    return false;
  } else {
    list = heap_.at(id);
  }
  const auto each = [&](const char* op, std::size_t operand, bool gives_list) {
    std::vector<ir::Value*> made;
    for (ir::Value* column : list.columns) {
      std::vector<ir::Value*> inputs(node->inputs().begin(), node->inputs().end());
      inputs[operand] = column;
      made.push_back(computed(node, op, inputs, gives_list ? column->type() : element_of(column->type())));
    }
    return made;
  };
  if (node->is("aten::len")) {
    node->replace_input(0, list.columns[0]);
    visit_other(node);
    return true;
  }
  if (node->is("aten::__getitem__")) {
    ir::Value* index = from_front(node->input(1), list.columns[0], node);
    const bool ragged = has_lists(*list.layout);
    const auto leaves = ragged ? leaves_at(list.columns, *list.layout, index, node) : each("aten::__getitem__", 0, false);
    std::span<ir::Value* const> left = leaves;
    const Abstract item = item_from(*list.layout, left, heap_.elements(id), node);
    place_item(id, index, item, node->owner());
    give(node, item);
    return true;
  }
  if (node->is("aten::slice") && has_lists(*list.layout)) return false;
  if (node->is("aten::slice") || node->is("aten::list") || node->is("aten::copy") || node->is("aten::mul")) {
    const bool copies = node->is("aten::list") || node->is("aten::copy");
    const std::size_t operand = ir::is(node->input(0)->type(), ir::TypeKind::list) ? 0 : 1;
    give_columns(node, *list.layout, copies ? list.columns : each(node->op().c_str(), operand, true), {id});
    return true;
  }
  if (node->is("aten::sorted")) {
    auto columns = sorted_columns(list, false, node);
    if (columns) give_columns(node, *list.layout, *std::move(columns), {id});
    return columns.has_value();
  }
  const ir::Constant* dtype = node->is("aten::tensor") && node->inputs().size() > 1 ? ir::constant_of(node->input(1)) : nullptr;
  if (dtype && list.layout->kind == Layout::Kind::numbers) {
    const std::array<ir::Value*, 2> inputs{list.columns[0], constant_before(node, {std::int64_t{0}})};
    ir::Value* stacked = computed(node, "aten::stack", inputs, ir::tensor_type());
    const ir::TypeRef& number = element_of(list.layout->type);
    const auto* wanted = dtype->get<std::int64_t>();
    if (wanted || ir::is(number, ir::TypeKind::floating))
      stacked = cast(stacked, wanted ? *wanted : static_cast<std::int64_t>(ir::DType::f32), node);
    known_[stacked] = Abstract::of(stacked);
    give(node, Abstract::of(stacked));
    return true;
  }
  return false;
}

// a + b.
bool ContainerWalk::add_columns(ir::Node* node, CellId a, CellId b) {
  const ir::TypeRef type = node->output()->type();
  const auto layout = joint_layout(heap_.at(a), heap_.at(b), type);
  if (!layout || is_left_out_result(node)) return false;
  std::vector<ir::Value*> columns = columns_of(heap_.at(a), heap_.origin(a).sites, *layout, node);
  const std::vector<ir::Value*> others = columns_of(heap_.at(b), heap_.origin(b).sites, *layout, node);
  for (std::size_t i = 0; i < columns.size(); ++i)
    columns[i] = computed(node, "aten::add", std::array{columns[i], others[i]}, columns[i]->type());
  give_columns(node, *layout, std::move(columns), {a, b});
  return true;
}

// Returns the form of an output: a list of records comes out as lists of their parts, a dictionary with computed keys as a list
// of keys and one of values.
ir::Value* ContainerWalk::spread_out(const Cell& cell, const CellOrigin& origin, ir::Node* place) {
  if (!cell.is_table() && !has_names(*cell.layout)) leave(origin.sites);
  std::span<ir::Value* const> columns = cell.columns;
  ir::Value* structure = cell.is_table() ? spread_table(cell, place) : spread_out(*cell.layout, columns, place);
  return node_before(place, "prim::ColumnsConstruct", {&structure, 1}, {&origin.type, 1})->output();
}

ir::Value* ContainerWalk::spread_table(const Cell& table, ir::Node* place) {
  std::vector<ir::Value*> lists;
  ir::Type shape;
  shape.kind = ir::TypeKind::tuple;
  shape.field_names = {"keys", "values"};
  for (const Abstract& list : table.items) {
    lists.push_back(leaf(list, place));
    shape.elements.push_back(lists.back()->type());
  }
  const ir::TypeRef type = std::make_shared<const ir::Type>(std::move(shape));
  return node_before(place, "prim::TupleConstruct", lists, {&type, 1})->output();
}

ir::Value* ContainerWalk::spread_out(const Layout& layout, std::span<ir::Value* const>& columns, ir::Node* place) {
  using enum Layout::Kind;
  if (layout.kind == value || layout.kind == numbers) {
    ir::Value* column = columns.front();
    columns = columns.subspan(1);
    return column;
  }
  std::vector<ir::Value*> parts;
  ir::Type shape;
  shape.kind = ir::TypeKind::tuple;
  shape.field_names = layout.type->field_names;
  for (const ir::Constant& key : layout.keys) shape.field_names.push_back(ir::key_text(key));
  for (const Layout& part : layout.parts) {
    parts.push_back(spread_out(part, columns, place));
    shape.elements.push_back(parts.back()->type());
  }
  const ir::TypeRef type = std::make_shared<const ir::Type>(std::move(shape));
  return node_before(place, "prim::TupleConstruct", parts, {&type, 1})->output();
}

// How many items there are, if all columns are known.
std::optional<std::size_t> ContainerWalk::known_rows(const Abstract& structure) {
  if (!structure.parts) return known_list(structure) ? std::optional(known_list(structure)->items.size()) : std::nullopt;
  std::optional<std::size_t> rows;
  for (const Abstract& part : *structure.parts) {
    const auto of_part = known_rows(part);
    if (!of_part || (rows && *rows != *of_part)) return std::nullopt;
    rows = of_part;
  }
  return rows;
}

Abstract ContainerWalk::row_of(const Abstract& structure, const ir::TypeRef& type, std::size_t row, ir::Node* place) {
  if (!structure.parts) {
    const Abstract item = known_list(structure)->items[row];
    if (!ir::is(type, ir::TypeKind::list)) return item;
    ir::Value* list = numbers_of(leaf(item, place), type, place);
    return Abstract::of_cell(add_cell({.whole = true, .made = list}, type, {site_of(place)}));
  }
  const bool dict = ir::is(type, ir::TypeKind::dict);
  std::vector<Abstract> parts;
  for (std::size_t i = 0; i < structure.parts->size(); ++i)
    parts.push_back(row_of((*structure.parts)[i], dict ? type->elements[1] : type->elements[i], row, place));
  if (!dict) return Abstract::of_parts(std::move(parts), type);
  Cell cell{.kind = Cell::Kind::dict, .items = std::move(parts)};
  for (const std::string& name : structure.type->field_names) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool is_number = ir::is(type->elements[0], ir::TypeKind::integer) && error == std::errc() && *end == '\0';
    cell.keys.push_back(is_number ? ir::Constant{number} : ir::Constant{name});
  }
  return Abstract::of_cell(add_cell(std::move(cell), type, {site_of(place)}));
}

// An output of the model whose length has become known.
void ContainerWalk::columns_construct(ir::Node* node) {
  const Abstract structure = look(node->input(0));
  const ir::TypeRef item = node->output()->type()->elements[0];
  const bool table = ir::is(node->output()->type(), ir::TypeKind::dict);
  const auto rows =
      table || ir::holds(*item, ir::TypeKind::named) || is_left_out(node->output()) ? std::nullopt : known_rows(structure);
  if (!rows) {
    put_operands(node);
    known_[node->output()] = Abstract::of(node->output());
    return;
  }
  std::vector<Abstract> items;
  for (std::size_t row = 0; row < *rows; ++row) items.push_back(row_of(structure, item, row, node));
  give_list(node, std::move(items));
}

}  // namespace compatcheck::passes

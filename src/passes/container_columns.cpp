// Items of lists that are followed, and the columns of numbers and tensors in which a list keeps them where only the running
// model knows its length: ONNX has lists of tensors and vectors of numbers alone.
#include <algorithm>
#include <array>

#include "ir/dtype.h"
#include "passes/container_walk.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

std::int64_t dtype_of(const ir::TypeRef& number) {
  using enum ir::DType;
  return static_cast<std::int64_t>(ir::is(number, ir::TypeKind::floating)  ? f64
                                   : ir::is(number, ir::TypeKind::boolean) ? boolean
                                                                           : i64);
}

}  // namespace

// ---- Layouts of items

// Returns nullopt for an item that can't be kept in columns.
std::optional<Layout> ContainerWalk::layout_of(const Abstract& item) {
  using enum Layout::Kind;
  work();
  const Nesting nesting(nested_);
  if (item.present || nesting.is_deep()) return std::nullopt;
  if (is_choice(item)) {
    Layout layout{.kind = choice};
    if (item.code)
      layout.options = *item.parts;
    else
      layout.options.push_back(item);
    layout.type = layout.options.front().value->type();
    return layout;
  }
  if (item.code) return Layout{.type = item.type};
  if (item.parts) return layout_of_parts({.kind = tuple, .type = item.type}, *item.parts);
  if (!item.cell) {  // a list that isn't followed may be written under its own name
    const ir::TypeRef& type = item.value->type();
    return ir::holds(*type, ir::TypeKind::list) ? std::nullopt : Layout::of_type(type);
  }
  const Cell& cell = heap_.at(*item.cell);
  const ir::TypeRef& type = heap_.origin(*item.cell).type;
  if (cell.kind == Cell::Kind::list)
    return is_list_of_numbers(type) ? std::optional(Layout{.kind = numbers, .type = type}) : layout_of_list(cell, type);
  if (cell.is_table()) return layout_of_parts({.kind = table, .type = type}, cell.items);
  if ((cell.keys.empty() || !cell.is_settled()) && may_become_table(cell, type)) return Layout::of_table(type);
  if (cell.whole || !cell.is_settled()) return std::nullopt;
  const bool is_object = cell.kind == Cell::Kind::object;
  return layout_of_parts({.kind = is_object ? object : dict, .type = type, .keys = cell.keys}, cell.items);
}

std::optional<Layout> ContainerWalk::layout_of_parts(Layout layout, const std::vector<Abstract>& parts) {
  if (parts.empty()) return std::nullopt;  // without columns nothing says how many there are
  for (const Abstract& part : parts) {
    auto inner = layout_of(part);
    if (!inner) return std::nullopt;
    layout.parts.push_back(*std::move(inner));
  }
  return layout;
}

// Returns the layout of a list within a list: its items have no identity.
std::optional<Layout> ContainerWalk::layout_of_list(const Cell& list, const ir::TypeRef& type) {
  auto item = layout_of_items(list, type);
  if (!item && !list.whole && list.items.empty()) item = Layout::of_type(element_of(type));
  if (!item || item->has_identity()) return std::nullopt;
  return Layout{.kind = Layout::Kind::list, .type = type, .parts = {*std::move(item)}};
}

std::optional<Layout> ContainerWalk::layout_of_items(const Cell& list, const ir::TypeRef& type) {
  if (list.layout) return *list.layout;
  if (list.whole) return Layout::of_type(element_of(type));
  std::optional<Layout> layout;
  for (const Abstract& item : list.items) {
    auto inner = layout_of(item);
    if (!inner || (layout && !layout->widen(*inner))) return std::nullopt;
    if (!layout) layout = std::move(inner);
  }
  return layout;
}

// Returns the layout that holds the items of both lists, one of which may be empty.
std::optional<Layout> ContainerWalk::joint_layout(const Cell& a, const Cell& b, const ir::TypeRef& type) {
  if (!needs_columns(type)) return std::nullopt;
  const auto is_empty = [](const Cell& list) { return !list.whole && list.items.empty(); };
  if (is_empty(a)) return layout_of_items(b, type);
  auto layout = layout_of_items(a, type);
  if (!layout || is_empty(b)) return layout;
  const auto other = layout_of_items(b, type);
  if (!other || !layout->widen(*other)) return std::nullopt;
  return layout;
}

// ---- Items and columns

// Adds the values of an item that go into the columns.
void ContainerWalk::add_leaves(const Layout& layout, const Abstract& item, ir::Node* place, std::vector<ir::Value*>& leaves) {
  using enum Layout::Kind;
  switch (layout.kind) {
    case value: return leaves.push_back(leaf(item, place));
    case numbers: return leaves.push_back(vector_of(leaf(item, place), place));
    case choice: {
      std::vector<Abstract> options = layout.options;
      return leaves.push_back(code_in(item, options, place));
    }
    case tuple: {
      const Abstract parts = item.parts ? item : as_parts(item, place);
      for (std::size_t i = 0; i < layout.parts.size(); ++i) add_leaves(layout.parts[i], (*parts.parts)[i], place, leaves);
      return;
    }
    case list: {
      const CellOrigin origin = heap_.origin(*item.cell);
      const auto flat = columns_of(heap_.at(*item.cell), origin.sites, layout.parts[0], place);
      leaves.push_back(computed(place, "aten::len", {&flat[0], 1}, ir::simple_type(ir::TypeKind::integer)));
      leaves.insert(leaves.end(), flat.begin(), flat.end());
      return;
    }
    case table: {
      const CellOrigin origin = heap_.origin(*item.cell);
      const Cell lists = table_of(heap_.at(*item.cell), origin.type, origin.sites, place);
      for (std::size_t i = 0; i < layout.parts.size(); ++i) add_leaves(layout.parts[i], lists.items[i], place, leaves);
      return;
    }
    case dict:
    case object: break;
  }
  const Cell cell = heap_.at(*item.cell);
  for (std::size_t i = 0; i < layout.parts.size(); ++i) add_leaves(layout.parts[i], *cell.find(layout.keys[i]), place, leaves);
}

// A list of numbers as a tensor.
ir::Value* ContainerWalk::vector_of(ir::Value* list, ir::Node* place) {
  const std::array<ir::Value*, 4> inputs{list, constant_before(place, {dtype_of(element_of(list->type()))}),
                                         constant_before(place, {}), constant_before(place, {false})};
  return computed(place, "aten::tensor", inputs, ir::tensor_type());
}

// A tensor in the dtype in which columns hold such a list.
ir::Value* ContainerWalk::as_numbers(ir::Value* tensor, const ir::TypeRef& list, ir::Node* place) {
  return cast(tensor, dtype_of(element_of(list)), place);
}

ir::Value* ContainerWalk::cast(ir::Value* tensor, std::int64_t dtype, ir::Node* place) {
  const std::array<ir::Value*, 5> inputs{tensor, constant_before(place, {dtype}), constant_before(place, {false}),
                                         constant_before(place, {false}), constant_before(place, {})};
  return computed(place, "aten::to", inputs, ir::tensor_type());
}

ir::Value* ContainerWalk::numbers_of(ir::Value* vector, const ir::TypeRef& list, ir::Node* place) {
  const auto kind = ir::is(element_of(list), ir::TypeKind::floating)  ? std::int64_t{1}
                    : ir::is(element_of(list), ir::TypeKind::boolean) ? std::int64_t{2}
                                                                      : std::int64_t{0};
  const std::array<ir::Value*, 3> inputs{vector, constant_before(place, {std::int64_t{1}}), constant_before(place, {kind})};
  return computed(place, "prim::tolist", inputs, list);
}

// An item made of what stands in the columns; takes the leaves that it needs. What has an identity may be one of `elements`.
Abstract ContainerWalk::item_from(const Layout& layout, std::span<ir::Value* const>& leaves, const std::set<Identity>& elements,
                                  ir::Node* place) {
  using enum Layout::Kind;
  const auto take = [&] {
    ir::Value* item = leaves.front();
    leaves = leaves.subspan(1);
    known_[item] = Abstract::of(item);
    return item;
  };
  const auto made = [&](Cell cell) {
    const CellId id = add_cell(std::move(cell), layout.type, {site_of(place)});
    Identities identities = heap_.identities(id);
    for (const Identity identity : elements) identities[identity] = {.known = false};
    heap_.set_identities(id, std::move(identities));
    return Abstract::of_cell(id);
  };
  if (layout.kind == value) return Abstract::of(take());
  if (layout.kind == choice) return Abstract::of_choice(take(), layout.options, site_of(place));
  if (layout.kind == numbers) {
    ir::Value* list = numbers_of(take(), layout.type, place);
    return made({.whole = true, .made = list});
  }
  if (layout.kind == list) {
    take();  // the length
    const Layout& item = layout.parts[0];
    if (item.kind == value) return made({.whole = true, .made = take()});
    Cell flat{.whole = true, .layout = std::make_shared<const Layout>(item)};
    for (const std::size_t count = item.columns().size(); flat.columns.size() < count;) flat.columns.push_back(take());
    return made(std::move(flat));
  }
  std::vector<Abstract> parts;
  const std::set<Identity> none;  // the lists of a table are its own
  for (const Layout& part : layout.parts) parts.push_back(item_from(part, leaves, layout.kind == table ? none : elements, place));
  if (layout.kind == tuple) return Abstract::of_parts(std::move(parts), layout.type);
  if (layout.kind == table) return made({.kind = Cell::Kind::dict, .whole = true, .items = std::move(parts)});
  return made(
      {.kind = layout.kind == dict ? Cell::Kind::dict : Cell::Kind::object, .keys = layout.keys, .items = std::move(parts)});
}

// A list's columns, of which `layout` holds all items.
std::vector<ir::Value*> ContainerWalk::columns_of(const Cell& list, const std::set<Site>& sites, const Layout& layout,
                                                  ir::Node* place) {
  if (list.layout) {
    if (!list.layout->keeps_codes(layout)) leave(sites);
    return list.columns;
  }
  const std::vector<Column> form = layout.columns();
  if (list.whole && !(form.size() == 1 && ir::equal(*form[0].type, *list.made->type()))) leave(sites);
  if (list.whole) return {list.made};
  if (!spend(options_.budget.listed, list.items.size() * form.size())) leave(sites);
  if (layout.has_lists()) return columns_of_items(list.items, layout, place);
  std::vector<std::vector<ir::Value*>> columns(form.size());
  for (const Abstract& item : list.items) {
    std::vector<ir::Value*> leaves;
    add_leaves(layout, item, place, leaves);
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].push_back(leaves[i]);
  }
  std::vector<ir::Value*> made;
  for (std::size_t i = 0; i < columns.size(); ++i)
    made.push_back(node_before(place, "prim::ListConstruct", columns[i], {&form[i].type, 1})->output());
  for (ir::Value* column : made) known_[column] = Abstract::of(column);
  return made;
}

// Keeps a list in columns from here on. False if it can't be.
bool ContainerWalk::keep_in_columns(CellId id, ir::Node* place) {
  const ir::TypeRef type = heap_.origin(id).type;
  if (!needs_columns(type) || heap_.at(id).layout) return heap_.at(id).layout != nullptr;
  const auto layout = layout_of_items(heap_.at(id), type);
  if (!layout || heap_.at(id).whole) return false;
  for (const Abstract& item : std::vector<Abstract>(heap_.at(id).items)) hold(id, item, place);
  set_columns(id, *layout, columns_of(heap_.at(id), heap_.origin(id).sites, *layout, place));
  return true;
}

void ContainerWalk::set_columns(CellId id, Layout layout, std::vector<ir::Value*> columns) {
  Cell& cell = heap_.change(id);
  cell = {.whole = true, .layout = std::make_shared<const Layout>(std::move(layout)), .columns = std::move(columns)};
  cell.version = ++versions_;
  if (heap_.elements(id).empty()) heap_.add_elements(id, {heap_.new_identity()});
}

}  // namespace compatcheck::passes

// Lists of lists in columns: the items of all inner lists in one list, and the lengths of the inner lists.
#include <array>

#include "passes/container_walk.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

ir::Value* ContainerWalk::part_of_list(ir::Value* list, ir::Value* start, ir::Value* end, ir::Node* place) {
  const std::array<ir::Value*, 4> inputs{list, start ? start : constant_before(place, {}), end ? end : constant_before(place, {}),
                                         constant_before(place, {std::int64_t{1}})};
  return computed(place, "aten::slice", inputs, list->type());
}

// Returns where the items of the inner list at `index`, counted from the front, begin and end.
std::array<ir::Value*, 2> ContainerWalk::range_at(ir::Value* lengths, ir::Value* index, ir::Node* place) {
  const ir::TypeRef integer = ir::simple_type(ir::TypeKind::integer);
  ir::Value* before = part_of_list(lengths, nullptr, index, place);
  ir::Value* start = computed(place, "aten::sum", {&before, 1}, integer);
  ir::Value* length = computed(place, "aten::__getitem__", std::array{lengths, index}, integer);
  return {start, computed(place, "aten::add", std::array{start, length}, integer)};
}

// Returns the values of the item at `index`, counted from the front.
std::vector<ir::Value*> ContainerWalk::leaves_at(const std::vector<ir::Value*>& columns, const Layout& layout, ir::Value* index,
                                                 ir::Node* place) {
  const std::vector<Column> form = layout.columns();
  std::vector<ir::Value*> leaves;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!form[i].lengths) {
      leaves.push_back(computed(place, "aten::__getitem__", std::array{columns[i], index}, element_of(columns[i]->type())));
      continue;
    }
    const auto [start, end] = range_at(columns[*form[i].lengths], index, place);
    leaves.push_back(part_of_list(columns[i], start, end, place));
  }
  return leaves;
}

// Returns the columns after the item at `index`, counted from the front, became `leaves`.
std::vector<ir::Value*> ContainerWalk::with_leaves_at(const std::vector<ir::Value*>& columns, const Layout& layout,
                                                      ir::Value* index, const std::vector<ir::Value*>& leaves, ir::Node* place) {
  const std::vector<Column> form = layout.columns();
  std::vector<ir::Value*> made;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!form[i].lengths) {
      made.push_back(changed_column(place, "aten::_set_item", {columns[i], index, leaves[i]}).list);
      continue;
    }
    const auto [start, end] = range_at(columns[*form[i].lengths], index, place);
    ir::Value* before = part_of_list(columns[i], nullptr, start, place);
    ir::Value* with = computed(place, "aten::add", std::array{before, leaves[i]}, columns[i]->type());
    made.push_back(
        computed(place, "aten::add", std::array{with, part_of_list(columns[i], end, nullptr, place)}, columns[i]->type()));
  }
  return made;
}

// Returns the columns with one item more.
std::vector<ir::Value*> ContainerWalk::with_leaves_added(const std::vector<ir::Value*>& columns, const Layout& layout,
                                                         const std::vector<ir::Value*>& leaves, ir::Node* place) {
  const std::vector<Column> form = layout.columns();
  std::vector<ir::Value*> made;
  for (std::size_t i = 0; i < columns.size(); ++i)
    made.push_back(form[i].lengths ? computed(place, "aten::add", std::array{columns[i], leaves[i]}, columns[i]->type())
                                   : changed_column(place, "aten::append", {columns[i], leaves[i]}).list);
  return made;
}

// Returns the columns of a list of these items, one item after the other.
std::vector<ir::Value*> ContainerWalk::columns_of_items(const std::vector<Abstract>& items, const Layout& layout,
                                                        ir::Node* place) {
  std::vector<ir::Value*> columns;
  for (const Column& column : layout.columns())
    columns.push_back(node_before(place, "prim::ListConstruct", {}, {&column.type, 1})->output());
  for (const Abstract& item : items) {
    std::vector<ir::Value*> leaves;
    add_leaves(layout, item, place, leaves);
    columns = with_leaves_added(columns, layout, leaves, place);
  }
  for (ir::Value* column : columns) known_[column] = Abstract::of(column);
  return columns;
}

}  // namespace compatcheck::passes

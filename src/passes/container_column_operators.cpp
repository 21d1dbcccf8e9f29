// Operators on lists that are kept in columns.
#include <algorithm>
#include <array>

#include "passes/container_walk.h"
#include "passes/list_form.h"
#include "passes/loops.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

// The same place, counted from the front.
ir::Value* ContainerWalk::from_front(ir::Value* index, ir::Value* list, ir::Node* place) {
  const auto* number = known<std::int64_t>(index);
  if (counts_up(index) || (number && *number >= 0)) return index;
  const ir::TypeRef truth = ir::simple_type(ir::TypeKind::boolean), integer = ir::simple_type(ir::TypeKind::integer);
  ir::Value* negative = computed(place, "aten::lt", std::array{index, constant_before(place, {std::int64_t{0}})}, truth);
  ir::Value* once = computed(place, "aten::Int", {&negative, 1}, integer);
  ir::Value* length = computed(place, "aten::len", {&list, 1}, integer);
  return computed(place, "aten::add", std::array{index, computed(place, "aten::mul", std::array{once, length}, integer)},
                  integer);
}

ContainerWalk::ChangedColumn ContainerWalk::changed_column(ir::Node* place, const std::string& op,
                                                           const std::vector<ir::Value*>& inputs) {
  ir::Value* column = inputs[0];
  const bool pops = op == "aten::pop";
  ir::Node* node =
      node_before(place, op, inputs, pops ? std::span(&element_of(column->type()), 1) : std::span<const ir::TypeRef>());
  ir::Value* popped = pops ? node->output() : nullptr;
  ir::Value* list = take_list_form(node, column, options_.registry);
  return {list, popped};
}

// Returns the columns after the operator, and the values of the item that it takes out.
ContainerWalk::ChangedColumns ContainerWalk::changed_columns(ir::Node* node, const Layout& layout,
                                                             const std::vector<ir::Value*>& columns,
                                                             const std::vector<ir::Value*>& leaves) {
  if (layout.has_lists() && node->is("aten::_set_item"))
    return {with_leaves_at(columns, layout, from_front(node->input(1), columns[0], node), leaves, node)};
  if (layout.has_lists() && node->is("aten::append")) return {with_leaves_added(columns, layout, leaves, node)};
  ChangedColumns changed;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::vector<ir::Value*> operands(node->inputs().begin(), node->inputs().end());
    operands[0] = columns[i];
    if (!leaves.empty()) operands.back() = leaves[i];
    const ChangedColumn made = changed_column(node, node->op(), operands);
    changed.columns.push_back(made.list);
    if (made.popped) changed.popped.push_back(made.popped);
  }
  return changed;
}

// l.append(x), l[i] = x and the like, column by column. False if the list isn't one that needs columns, or can't have them.
bool ContainerWalk::write_columns(ir::Node* node, CellId id) {
  const ir::TypeRef type = heap_.origin(id).type;
  if (!needs_columns(type)) return false;
  if (node->is("aten::sort")) return sort_columns(node, id);
  if (!has_list_form(*node) || node->is("aten::remove")) return false;
  const bool takes_list = node->is("aten::extend") || node->is("aten::add_"), appends = node->is("aten::append");
  const bool takes_item = appends || node->is("aten::insert") || node->is("aten::_set_item");
  const Abstract given = takes_list ? look(node->input(1)) : takes_item ? look(node->inputs().back()) : Abstract();
  if (takes_list && !given.cell) return false;
  Cell more;  // holds the items that are added
  if (takes_list) more = heap_.at(*given.cell);
  if (takes_item) more.items.push_back(given);
  const auto layout = joint_layout(heap_.at(id), more, type);
  if (!layout || (heap_.at(id).whole && !heap_.at(id).layout)) return false;
  if (layout->has_lists() && !takes_list && !appends && !node->is("aten::_set_item") && !node->is("aten::clear")) return false;
  const std::vector<ir::Value*> columns = columns_of(heap_.at(id), heap_.origin(id).sites, *layout, node);
  std::vector<ir::Value*> leaves;
  if (takes_item) add_leaves(*layout, given, node, leaves);
  if (takes_list) leaves = columns_of(more, heap_.origin(*given.cell).sites, *layout, node);
  ChangedColumns changed = changed_columns(node, *layout, columns, leaves);
  for (const Abstract& item : std::vector<Abstract>(heap_.at(id).items)) hold(id, item, node);
  if (takes_item) hold(id, given, node);
  if (node->is("aten::mul_")) heap_.set_repeats(id);
  if (takes_list) hold_items_of(*given.cell, id);
  const std::uint64_t version = heap_.at(id).version;
  change(id, node);
  set_columns(id, *layout, std::move(changed.columns));
  if (appends || takes_list) heap_.change(id).version = version;  // the other items keep their places
  if (changed.popped.empty()) return wrote(node, id), true;
  std::span<ir::Value* const> left = changed.popped;
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
  if (node->inputs().size() > 2 || (node->inputs().size() == 2 && !backwards) || !keep_in_columns(id, node)) return false;
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
    const bool ragged = list.layout->has_lists();
    const auto leaves = ragged ? leaves_at(list.columns, *list.layout, index, node) : each("aten::__getitem__", 0, false);
    std::span<ir::Value* const> left = leaves;
    const Abstract item = item_from(*list.layout, left, heap_.elements(id), node);
    place_item(id, index, item, node->owner());
    give(node, item);
    return true;
  }
  if (node->is("aten::slice") && list.layout->has_lists()) return false;
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
    const auto* stated = dtype->get<std::int64_t>();
    if (stated || ir::is(number, ir::TypeKind::floating))
      stacked = cast(stacked, stated ? *stated : static_cast<std::int64_t>(ir::DType::f32), node);
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

}  // namespace compatcheck::passes

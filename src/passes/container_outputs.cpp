// Outputs of the model that are kept in columns, or may be None.
#include <charconv>

#include "ir/value_name.h"
#include "passes/container_walk.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

// Only an output of the graph may be a value that is None in some runs.
ir::Value* ContainerWalk::option(const Abstract& abstract, ir::Node* place) {
  if (!gives_outputs_) leave(abstract);
  ir::Value* inner = leaf(*content(abstract), place);
  const ir::TypeRef type = ir::optional_of(inner->type());
  return node_before(place, "prim::OptionalConstruct", std::array{abstract.present, inner}, {&type, 1})->output();
}

// None, the value or the node itself, by what is known of the flag.
void ContainerWalk::optional_construct(ir::Node* node) {
  const bool* present = known<bool>(node->input(0));
  if (!present) return put_operands(node);
  give(node, *present ? look(node->input(1)) : Abstract::of(constant_before(node, {})));
}

// Returns the form of an output: a list of records comes out as lists of their parts, a dictionary with computed keys as a list
// of keys and one of values.
ir::Value* ContainerWalk::spread_out(const Cell& cell, const CellOrigin& origin, ir::Node* place) {
  if (!cell.is_table() && !cell.layout->has_names()) leave(origin.sites);
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

// Returns an object's attributes, in the form of a NamedTuple.
ir::Value* ContainerWalk::spread_object(const Cell& object, const CellOrigin& origin, ir::Node* place) {
  work();
  const Nesting nesting(nested_);  // an object may hold itself
  if (nesting.is_deep() || !object.is_settled() || !options_.program) leave(origin.sites);
  const auto type = options_.program->classes.find(origin.type->name);
  if (type == options_.program->classes.end()) leave(origin.sites);
  std::vector<ir::Value*> parts;
  ir::Type shape;
  shape.kind = ir::TypeKind::tuple;
  for (const ir::ClassAttribute& attribute : type->second.attributes) {
    const Abstract* value = object.find({attribute.name});
    if (!value) leave(origin.sites);
    parts.push_back(leaf(Abstract(*value), place));
    shape.field_names.push_back(attribute.name);
    shape.elements.push_back(parts.back()->type());
  }
  const ir::TypeRef named = std::make_shared<const ir::Type>(std::move(shape));
  return node_before(place, "prim::TupleConstruct", parts, {&named, 1})->output();
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

#include "passes/container_layouts.h"

#include <algorithm>
#include <span>

#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

bool is_column_item(const ir::TypeRef& type) { return ir::is(type, ir::TypeKind::tensor) || is_number(type); }

// Returns the type of the items in the column of a layout's leaf.
ir::TypeRef column_item(const Layout& layout) {
  using enum Layout::Kind;
  if (layout.kind == choice) return ir::simple_type(ir::TypeKind::integer);
  return layout.kind == numbers || ir::is(layout.type, ir::TypeKind::tensor) ? ir::tensor_type() : layout.type;
}

void add_columns_of(const Layout& layout, std::optional<std::size_t> lengths, std::vector<Column>& columns) {
  using enum Layout::Kind;
  if (layout.kind == list) {
    columns.push_back({ir::list_of(ir::simple_type(ir::TypeKind::integer)), lengths});
    lengths = columns.size() - 1;
  }
  if (layout.kind == value || layout.kind == numbers || layout.kind == choice)
    columns.push_back({ir::list_of(column_item(layout)), lengths});
  for (const Layout& part : layout.parts) add_columns_of(part, lengths, columns);
}

const Layout* part_of(const Layout& layout, const ir::Constant& key) {
  for (std::size_t i = 0; i < layout.keys.size(); ++i)
    if (ir::equal(layout.keys[i], key)) return &layout.parts[i];
  return nullptr;
}

}  // namespace

bool needs_columns(const ir::TypeRef& list) { return ir::is(list, ir::TypeKind::list) && !is_column_item(list->elements[0]); }

std::optional<Layout> Layout::of_type(const ir::TypeRef& type) {
  if (is_column_item(type)) return Layout{.type = type};
  if (is_list_of_numbers(type)) return Layout{.kind = Kind::numbers, .type = type};
  if (!ir::is(type, ir::TypeKind::tuple) || type->elements.empty()) return std::nullopt;
  Layout layout{.kind = Kind::tuple, .type = type};
  for (const ir::TypeRef& element : type->elements) {
    auto part = of_type(element);
    if (!part) return std::nullopt;
    layout.parts.push_back(*std::move(part));
  }
  return layout;
}

std::optional<Layout> Layout::of_table(const ir::TypeRef& dict) {
  Layout layout{.kind = Kind::table, .type = dict};
  for (const ir::TypeRef& element : dict->elements) {
    if (!is_number(element)) return std::nullopt;
    layout.parts.push_back({.kind = Kind::numbers, .type = ir::list_of(element)});
  }
  return layout;
}

bool Layout::widen(const Layout& other) {
  using enum Kind;
  if (kind != other.kind || parts.size() != other.parts.size()) return false;
  if (kind == value || kind == numbers)
    return ir::equal(*type, *other.type) || (ir::is(type, ir::TypeKind::tensor) && ir::is(other.type, ir::TypeKind::tensor));
  if (kind == dict && !same_keys(keys, other.keys)) return false;
  for (const Abstract& option : other.options) {
    if (std::ranges::any_of(options, [&](const Abstract& known) { return same(known, option); })) continue;
    if (options.size() == most_options) return false;
    options.push_back(option);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Layout* part = kind == object ? part_of(other, keys[i]) : &other.parts[i];
    if (!part || !parts[i].widen(*part)) return false;
  }
  return true;
}

std::optional<Layout> Layout::widened(const Layout& other) const {
  Layout wide = *this;
  if (!wide.widen(other)) return std::nullopt;
  if (other.keeps_codes(wide)) return wide;
  wide = other;
  return wide.widen(*this) ? std::optional(wide) : std::nullopt;
}

bool Layout::keeps_codes(const Layout& wide) const {
  const auto known = std::span(wide.options).first(std::min(options.size(), wide.options.size()));
  return std::ranges::equal(options, known, same) && same_keys(keys, wide.keys) &&
         std::ranges::equal(parts, wide.parts, &Layout::keeps_codes);
}

std::vector<Column> Layout::columns() const {
  std::vector<Column> columns;
  add_columns_of(*this, std::nullopt, columns);
  return columns;
}

bool Layout::has_identity() const {
  return kind != Kind::value && kind != Kind::choice &&
         (kind != Kind::tuple || std::ranges::any_of(parts, &Layout::has_identity));
}

bool Layout::has_lists() const { return kind == Kind::list || std::ranges::any_of(parts, &Layout::has_lists); }

bool Layout::has_names() const {
  const auto is_name = [](const ir::Constant& key) { return key.get<std::string>() || key.get<std::int64_t>(); };
  return kind != Kind::choice && kind != Kind::table && kind != Kind::list && std::ranges::all_of(keys, is_name) &&
         std::ranges::all_of(parts, &Layout::has_names);
}

}  // namespace compatcheck::passes

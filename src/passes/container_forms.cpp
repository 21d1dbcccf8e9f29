#include "passes/container_forms.h"

#include <algorithm>

#include "passes/effects.h"
#include "passes/evaluate.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// Whether columns of type `structure` can hold items of type `item`.
bool fits_columns(const ir::Type& structure, const ir::Type& item) {
  const bool dict = item.kind == ir::TypeKind::dict, tuple = item.kind == ir::TypeKind::tuple;
  if (structure.kind != ir::TypeKind::tuple) return structure.kind == ir::TypeKind::list && !dict && !tuple;
  const std::size_t parts = structure.elements.size();
  if (item.kind == ir::TypeKind::named) return structure.field_names.size() == parts;
  if (dict ? structure.field_names.size() != parts : !tuple || item.elements.size() != parts) return false;
  for (std::size_t i = 0; i < parts; ++i)
    if (!fits_columns(*structure.elements[i], *item.elements[dict ? 1 : i])) return false;
  return true;
}

}  // namespace

bool is_unknown_tuple(const Abstract& abstract) {
  return !abstract.followed() && ir::is(abstract.value->type(), ir::TypeKind::tuple) && !abstract.value->type()->elements.empty();
}

// A graph's text may say anything: as many inputs and outputs as the operator has, and a result of its type.
bool has_usual_form(const ir::Node& node) {
  const std::size_t inputs = node.inputs().size(), outputs = node.outputs().size();
  const auto gives = [&](ir::TypeKind kind) { return ir::is(node.output()->type(), kind); };
  if (!node.blocks().empty()) return ir::arity_fault(node).empty();
  if (node.is("prim::SetAttr")) return inputs == 2 && outputs == 0;
  if (node.is("prim::TupleUnpack") || node.is("prim::ListUnpack")) return inputs == 1;
  if (outputs > 1 || (outputs == 0 && !writes(node))) return false;
  // A list of Any may hold itself.
  if (!node.outputs().empty() && ir::holds(*node.output()->type(), ir::TypeKind::any)) return false;
  if (node.is("prim::ListConstruct")) return gives(ir::TypeKind::list);
  if (node.is("prim::ColumnsConstruct") && gives(ir::TypeKind::dict))
    return inputs == 1 && ir::is(node.input(0)->type(), ir::TypeKind::tuple) && node.input(0)->type()->elements.size() == 2;
  if (node.is("prim::ColumnsConstruct"))
    return inputs == 1 && gives(ir::TypeKind::list) && fits_columns(*node.input(0)->type(), *node.output()->type()->elements[0]);
  if (node.is("prim::OptionalConstruct")) return inputs == 2;
  if (node.is("prim::DictConstruct")) return gives(ir::TypeKind::dict) && inputs % 2 == 0;
  if (node.is("prim::TupleConstruct")) return gives(ir::TypeKind::tuple) && node.output()->type()->elements.size() == inputs;
  if (node.is("prim::CreateObject") || node.is("aten::dict") || node.is("aten::list")) return true;
  return inputs >= (node.is("prim::TupleIndex") ? 2u : 1u);
}

// Whether it may become an Optional that is None only in some runs.
bool is_settled(const Abstract& abstract) {
  return abstract.followed() || abstract.is_none() ||
         !(ir::is(abstract.value->type(), ir::TypeKind::optional) || ir::is(abstract.value->type(), ir::TypeKind::any));
}

bool has_cells(const Abstract& abstract) { return abstract.cell || abstract.holds_cells; }

bool leads_to(const Abstract& abstract, CellId cell) {
  return abstract.cell == cell ||
         (abstract.parts && std::ranges::any_of(*abstract.parts, [&](const Abstract& part) { return leads_to(part, cell); }));
}

bool is_plain_element(const ir::TypeRef& type) {
  using enum ir::TypeKind;
  if (!type) return false;
  switch (type->kind) {
    case list:
    case dict:
    case named:
    case module:
    case any:
    case any_list:
    case any_tuple:
    case any_class:
    case capsule:
    case future:
    case rref:
    case await_of:
    case var: return false;
    default: return std::ranges::all_of(type->elements, is_plain_element);
  }
}

bool is_container_type(const ir::TypeRef& type) {
  const ir::TypeRef& inner = ir::without_optional(type);
  return ir::is(inner, ir::TypeKind::list) || ir::is(inner, ir::TypeKind::dict);
}

bool is_container_or_tuple(const ir::TypeRef& type) { return is_container_type(type) || ir::is(type, ir::TypeKind::tuple); }

bool has_whole_items(const ir::TypeRef& list) {
  return is_plain_element(list->elements[0]) && !ir::is(list->elements[0], ir::TypeKind::optional);
}

ir::TypeRef join_types(const ir::TypeRef& a, const ir::TypeRef& b) {
  using enum ir::TypeKind;
  if (ir::equal(*a, *b)) return a;
  if (ir::is(a, tensor) && ir::is(b, tensor)) return ir::tensor_type();
  if (ir::is(a, none)) return ir::is(b, optional) ? b : ir::optional_of(b);
  if (ir::is(b, none) || ir::is(b, optional) || ir::is(a, optional)) {
    const ir::TypeRef inner =
        ir::is(b, none) ? ir::without_optional(a) : join_types(ir::without_optional(a), ir::without_optional(b));
    return ir::optional_of(inner);
  }
  return a;
}

std::optional<std::size_t> position(const ir::Value* index, std::size_t size) {
  const auto* number = known<std::int64_t>(index);
  if (!number) return std::nullopt;
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t at = *number < 0 ? *number + count : *number;
  return at >= 0 && at < count ? std::optional(static_cast<std::size_t>(at)) : std::nullopt;
}

bool is_key(const ir::Constant& constant) { return values_equal(constant, constant) == true; }

}  // namespace compatcheck::passes

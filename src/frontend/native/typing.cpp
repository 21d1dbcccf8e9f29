#include "frontend/native/typing.h"

#include <algorithm>

#include "compatcheck/error.h"
#include "frontend/snapshot.h"

namespace compatcheck::frontend::native {
namespace {

using ir::Type;
using ir::TypeKind;
using ir::TypeRef;

constexpr std::size_t deepest_type_in_code = 100;

bool is_class(const Type& type) { return type.kind == TypeKind::named || type.kind == TypeKind::module; }

// libtorch's enumerations are ints in TorchScript.
bool is_enumeration(TypeKind kind) {
  return kind == TypeKind::scalar_type || kind == TypeKind::layout || kind == TypeKind::memory_format ||
         kind == TypeKind::qscheme;
}
TypeKind plain(TypeKind kind) { return is_enumeration(kind) ? TypeKind::integer : kind; }

bool is_numeric(TypeKind kind) {
  return kind == TypeKind::number || kind == TypeKind::integer || kind == TypeKind::floating || kind == TypeKind::complex;
}

TypeRef with_elements(const Type& type, std::vector<TypeRef> elements) {
  Type made = type;
  made.elements = std::move(elements);
  return std::make_shared<const Type>(std::move(made));
}

std::string annotations(const std::vector<TypeRef>& types) {
  std::string text;
  for (const TypeRef& type : types) text += (text.empty() ? "" : ", ") + annotation(*type);
  return text;
}

}  // namespace

bool is_subtype(const Type& type, const Type& of, const Interfaces& interfaces) {
  const auto every = [&](const std::vector<TypeRef>& members) {
    return std::ranges::all_of(members, [&](const TypeRef& member) { return is_subtype(*member, of, interfaces); });
  };
  const auto some = [&](const std::vector<TypeRef>& members) {
    return std::ranges::any_of(members, [&](const TypeRef& member) { return is_subtype(type, *member, interfaces); });
  };
  if (of.kind == TypeKind::any || same_structure(type, of)) return true;
  if (type.kind == TypeKind::union_of) return every(type.elements);
  if (of.kind == TypeKind::optional) {
    if (type.kind == TypeKind::none) return true;
    return is_subtype(type.kind == TypeKind::optional ? *type.elements[0] : type, *of.elements[0], interfaces);
  }
  if (of.kind == TypeKind::union_of) {
    if (type.kind != TypeKind::optional) return some(of.elements);
    return is_subtype(*ir::simple_type(TypeKind::none), of, interfaces) && is_subtype(*type.elements[0], of, interfaces);
  }
  switch (of.kind) {
    case TypeKind::number: return is_numeric(type.kind);
    case TypeKind::any_list: return type.kind == TypeKind::list;
    case TypeKind::any_tuple: return type.kind == TypeKind::tuple;
    case TypeKind::any_class: return is_class(type);
    case TypeKind::module:
    case TypeKind::named: {
      if (!is_class(type)) return false;
      return type.name == of.name || of.name == "AnyEnumType" || interfaces.implements(type.name, of.name);
    }
    case TypeKind::tuple:  // a NamedTuple is a tuple, not the other way round
      return type.kind == TypeKind::tuple && type.elements.size() == of.elements.size() &&
             (of.name.empty() || of.name == type.name) &&
             std::ranges::equal(type.elements, of.elements,
                                [&](const TypeRef& a, const TypeRef& b) { return is_subtype(*a, *b, interfaces); });
    case TypeKind::future: return type.kind == TypeKind::future && is_subtype(*type.elements[0], *of.elements[0], interfaces);
    case TypeKind::list:
    case TypeKind::dict:  // invariant
      return type.kind == of.kind && std::ranges::equal(type.elements, of.elements, [&](const TypeRef& a, const TypeRef& b) {
               return is_subtype(*a, *b, interfaces) && is_subtype(*b, *a, interfaces);
             });
    default: return plain(type.kind) == plain(of.kind) && type.elements.empty() && of.elements.empty() && type.name == of.name;
  }
}

// Source: unifyTypes in aten/src/ATen/core/type.cpp.
TypeRef unified(const TypeRef& a, const TypeRef& b, const Interfaces& interfaces) {
  if (is_subtype(*a, *b, interfaces)) return b;
  if (is_subtype(*b, *a, interfaces)) return a;
  if (a->kind == TypeKind::none && b->kind != TypeKind::none) return ir::optional_of(b);
  if (b->kind == TypeKind::none) return ir::optional_of(a);
  const auto inner = [](const TypeRef& type) { return ir::without_optional(type); };
  if (a->kind == TypeKind::optional || b->kind == TypeKind::optional) {
    const TypeRef both = unified(inner(a), inner(b), interfaces);
    return both ? ir::optional_of(both) : nullptr;
  }
  if (a->kind != b->kind || a->elements.size() != b->elements.size() || a->elements.empty()) return nullptr;
  if (a->kind != TypeKind::tuple && a->kind != TypeKind::future) return nullptr;
  std::vector<TypeRef> elements;
  for (std::size_t i = 0; i < a->elements.size(); ++i) {
    elements.push_back(unified(a->elements[i], b->elements[i], interfaces));
    if (!elements.back()) return nullptr;
  }
  return a->kind == TypeKind::tuple ? ir::tuple_of(std::move(elements)) : with_elements(*a, std::move(elements));
}

TypeRef unified_or_union(const TypeRef& a, const TypeRef& b, const Interfaces& interfaces) {
  if (const TypeRef both = unified(a, b, interfaces)) return both;
  Type made;
  made.kind = TypeKind::union_of;
  for (const TypeRef& each : {a, b}) {
    const std::vector<TypeRef> parts = each->kind == TypeKind::union_of ? each->elements : std::vector{each};
    for (const TypeRef& part : parts)
      if (std::ranges::none_of(made.elements, [&](const TypeRef& known) { return same_structure(*known, *part); }))
        made.elements.push_back(part);
  }
  return std::make_shared<const Type>(std::move(made));
}

// Source: matchTypeVariables in aten/src/ATen/core/type.cpp.
bool bind_variables(const TypeRef& formal, const TypeRef& actual, TypeVariables& variables, const Interfaces& interfaces) {
  if (!ir::holds(*formal, TypeKind::var)) return true;
  const auto all = [&](const std::vector<TypeRef>& given) {
    if (given.size() != formal->elements.size()) return false;
    for (std::size_t i = 0; i < given.size(); ++i)
      if (!bind_variables(formal->elements[i], given[i], variables, interfaces)) return false;
    return true;
  };
  switch (formal->kind) {
    case TypeKind::var: {
      const auto [known, fresh] = variables.try_emplace(formal->name, actual);
      if (fresh) return true;
      const TypeRef both = unified(known->second, actual, interfaces);
      if (both) known->second = both;
      return both != nullptr;
    }
    case TypeKind::list:
      if (actual->kind == TypeKind::list) return all(actual->elements);
      if (actual->kind != TypeKind::tuple || actual->elements.empty()) return false;
      // A tuple of one type stands for a list.
      for (const TypeRef& element : actual->elements)
        if (!bind_variables(formal->elements[0], element, variables, interfaces)) return false;
      return true;
    case TypeKind::optional:
      if (actual->kind == TypeKind::optional) return all(actual->elements);
      return actual->kind == TypeKind::none || bind_variables(formal->elements[0], actual, variables, interfaces);
    default: return formal->kind == actual->kind && all(actual->elements);
  }
}

TypeRef with_variables(const TypeRef& formal, const TypeVariables& variables) {
  if (!ir::holds(*formal, TypeKind::var)) return formal;
  if (formal->kind == TypeKind::var) {
    const auto known = variables.find(formal->name);
    return known == variables.end() ? nullptr : known->second;
  }
  std::vector<TypeRef> elements;
  for (const TypeRef& element : formal->elements) {
    elements.push_back(with_variables(element, variables));
    if (!elements.back()) return nullptr;
  }
  return with_elements(*formal, std::move(elements));
}

TypeBounds::Size TypeBounds::measure(const TypeRef& type) {
  if (type->elements.empty()) return {};
  const auto [known, fresh] = known_.try_emplace(type.get(), type, Size{});
  if (!fresh) return known->second.second;
  Size size;
  for (const TypeRef& element : type->elements) {
    const Size inner = measure(element);
    size.depth = std::max(size.depth, inner.depth + 1);
    size.parts = std::min(size.parts + inner.parts, most_type_parts + 1);
  }
  return known_[type.get()].second = size;
}

void TypeBounds::check(const TypeRef& type) {
  const Size size = measure(type);
  if (size.depth > deepest_type_in_code) throw ModelError("a type of the model is nested more than 100 deep");
  if (size.parts > most_type_parts)
    throw ModelError("a type of the model holds more than " + std::to_string(most_type_parts) + " others");
}

std::string annotation(const Type& type) {
  const auto generic = [&](const char* word) { return std::string(word) + "[" + annotations(type.elements) + "]"; };
  switch (type.kind) {
    case TypeKind::tensor: return "Tensor";
    case TypeKind::number: return "number";
    case TypeKind::none: return "NoneType";
    case TypeKind::list: return generic("List");
    case TypeKind::optional: return generic("Optional");
    case TypeKind::dict: return generic("Dict");
    case TypeKind::union_of: return generic("Union");
    case TypeKind::future: return generic("Future");
    case TypeKind::rref: return generic("RRef");
    case TypeKind::await_of: return generic("Await");
    case TypeKind::tuple: return !type.name.empty() ? type.name : type.elements.empty() ? "Tuple[()]" : generic("Tuple");
    case TypeKind::named:
    case TypeKind::module: return type.name;
    default: return ir::to_string(type);
  }
}

}  // namespace compatcheck::frontend::native

#include "conversion/type_facts.h"

#include <algorithm>

namespace compatcheck::conversion {
namespace {

using symbolic::Dim;
using symbolic::Fact;
using symbolic::ListFact;
using symbolic::NumberFact;
using symbolic::TensorFact;

TensorFact tensor_of(const ir::TensorType& type) {
  TensorFact tensor{.dtype = type.dtype, .quantizer = type.quantizer};
  if (type.sizes) {
    tensor.shape.emplace();
    for (const auto& size : *type.sizes) tensor.shape->push_back(size ? Dim(*size) : Dim::unknown());
  }
  return tensor;
}

NumberFact::Kind number_kind(ir::TypeKind kind) {
  return kind == ir::TypeKind::floating  ? NumberFact::Kind::floating
         : kind == ir::TypeKind::boolean ? NumberFact::Kind::boolean
                                         : NumberFact::Kind::integer;
}

}  // namespace

Fact fact_of_type(const ir::TypeRef& type) {
  if (!type) return {};
  switch (type->kind) {
    case ir::TypeKind::tensor: return {.value = tensor_of(type->tensor)};
    case ir::TypeKind::integer:
    case ir::TypeKind::floating:
    case ir::TypeKind::boolean: return {.value = NumberFact{.kind = number_kind(type->kind)}};
    case ir::TypeKind::none: return {.value = symbolic::NoneFact{}};
    case ir::TypeKind::list:
      return {.value = ListFact{.items = std::nullopt, .element = std::make_shared<Fact>(fact_of_type(type->elements.front()))}};
    case ir::TypeKind::tuple: {
      ListFact list;
      list.items.emplace();
      for (const auto& element : type->elements) list.items->push_back(fact_of_type(element));
      return {.value = std::move(list)};
    }
    default: return {};
  }
}

bool complete(const Fact& fact) {
  if (const auto* tensor = fact.tensor())
    return tensor->dtype && tensor->shape &&
           std::none_of(tensor->shape->begin(), tensor->shape->end(), [](const Dim& dim) { return dim.is_unknown(); });
  if (const auto* list = fact.list()) return list->items && std::all_of(list->items->begin(), list->items->end(), complete);
  if (const auto* number = fact.number()) return number->integer || number->floating;
  return !std::holds_alternative<std::monostate>(fact.value);
}

}  // namespace compatcheck::conversion

#include "frontend/torchscript/types.h"

#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <utility>

#include "compatcheck/error.h"
#include "frontend/snapshot.h"

namespace compatcheck::frontend::torchscript {
namespace {

constexpr std::size_t deepest_torch_type = 1000;

using TypeSizes = std::optional<std::vector<std::optional<std::int64_t>>>;

TypeSizes sizes_of(const c10::VaryingShape<std::int64_t>& shape) {
  if (!shape.sizes()) return std::nullopt;
  return std::vector<std::optional<std::int64_t>>(shape.sizes()->begin(), shape.sizes()->end());
}

}  // namespace

ir::TensorType tensor_type(const c10::TensorType& type) {
  ir::TensorType made;
  if (type.scalarType()) made.dtype = ir::dtype_from_number(static_cast<std::int64_t>(*type.scalarType()));
  made.sizes = sizes_of(type.sizes());
  made.strides = sizes_of(type.strides());
  made.requires_grad = type.requiresGrad();
  if (type.device()) made.device = type.device()->str();
  return made;
}

ir::TypeRef Types::convert(const c10::TypePtr& type) {
  if (!type) return ir::simple_type(ir::TypeKind::any);
  if (const auto found = known_.find(type.get()); found != known_.end()) return found->second.type;
  if (++depth_ > deepest_torch_type) throw ModelError("a type of the model is nested more than 1000 deep");
  ir::TypeRef made = make(type);
  --depth_;
  count_parts(*made);
  known_.emplace(type.get(), Known{type, made});
  return made;
}

// A tuple of twice the same tuple, and so on, is small in the file and endless when walked.
void Types::count_parts(const ir::Type& type) {
  std::size_t parts = 1;
  for (const ir::TypeRef& element : type.elements) {
    const auto counted = parts_.find(element.get());
    parts += counted == parts_.end() ? 1 : counted->second;
  }
  if (parts > most_type_parts)
    throw ModelError("a type of the model holds more than " + std::to_string(most_type_parts) + " others");
  if (parts > 1) parts_[&type] = parts;
}

std::vector<c10::NamedTypePtr> Types::take_met() { return std::exchange(met_, {}); }

ir::TypeRef Types::contained(ir::TypeKind kind, const c10::TypePtr& type) {
  ir::Type made;
  made.kind = kind;
  for (const c10::TypePtr& inner : type->containedTypes()) made.elements.push_back(convert(inner));
  return std::make_shared<const ir::Type>(std::move(made));
}

ir::TypeRef Types::make_tuple(const c10::TupleType& tuple) {
  ir::Type made;
  made.kind = ir::TypeKind::tuple;
  for (const c10::TypePtr& element : tuple.elements()) made.elements.push_back(convert(element));
  if (tuple.name()) made.name = tuple.name()->qualifiedName();
  if (tuple.schema())
    for (const c10::Argument& field : tuple.schema()->arguments()) made.field_names.push_back(field.name());
  return std::make_shared<const ir::Type>(std::move(made));
}

ir::TypeRef Types::make_named(const c10::NamedTypePtr& named, bool module) {
  met_.push_back(named);
  const std::string name = named->name() ? named->name()->qualifiedName() : std::string();
  return module ? ir::module_type(name) : ir::named_type(name);
}

ir::TypeRef Types::make(const c10::TypePtr& type) {
  using Kind = c10::TypeKind;
  using ir::TypeKind;
  switch (type->kind()) {
    case Kind::TensorType: return ir::tensor_type(tensor_type(type->expectRef<c10::TensorType>()));
    case Kind::IntType:
    case Kind::SymIntType: return ir::simple_type(TypeKind::integer);
    case Kind::FloatType:
    case Kind::SymFloatType: return ir::simple_type(TypeKind::floating);
    case Kind::BoolType:
    case Kind::SymBoolType: return ir::simple_type(TypeKind::boolean);
    case Kind::ComplexType: return ir::simple_type(TypeKind::complex);
    case Kind::NumberType: return ir::simple_type(TypeKind::number);
    case Kind::StringType: return ir::simple_type(TypeKind::string);
    case Kind::NoneType: return ir::simple_type(TypeKind::none);
    case Kind::DeviceObjType: return ir::simple_type(TypeKind::device);
    case Kind::GeneratorType: return ir::simple_type(TypeKind::generator);
    case Kind::LayoutType: return ir::simple_type(TypeKind::layout);
    case Kind::MemoryFormatType: return ir::simple_type(TypeKind::memory_format);
    case Kind::ScalarTypeType: return ir::simple_type(TypeKind::scalar_type);
    case Kind::QSchemeType: return ir::simple_type(TypeKind::qscheme);
    case Kind::StreamObjType: return ir::simple_type(TypeKind::stream);
    case Kind::StorageType: return ir::simple_type(TypeKind::storage);
    case Kind::AnyListType: return ir::simple_type(TypeKind::any_list);
    case Kind::AnyTupleType: return ir::simple_type(TypeKind::any_tuple);
    case Kind::AnyClassType: return ir::simple_type(TypeKind::any_class);
    case Kind::CapsuleType:
    case Kind::QuantizerType:
    case Kind::PyObjectType: return ir::simple_type(TypeKind::capsule);
    case Kind::FunctionType: return ir::simple_type(TypeKind::function);
    case Kind::ListType: return contained(TypeKind::list, type);
    case Kind::DictType: return contained(TypeKind::dict, type);
    case Kind::OptionalType: return ir::optional_of(convert(type->expectRef<c10::OptionalType>().getElementType()));
    case Kind::UnionType: return contained(TypeKind::union_of, type);
    case Kind::FutureType: return contained(TypeKind::future, type);
    case Kind::RRefType: return contained(TypeKind::rref, type);
    case Kind::AwaitType: return contained(TypeKind::await_of, type);
    case Kind::TupleType: return make_tuple(type->expectRef<c10::TupleType>());
    case Kind::ClassType: return make_named(type->expect<c10::ClassType>(), type->is_module());
    case Kind::InterfaceType: return make_named(type->expect<c10::InterfaceType>(), type->is_module());
    case Kind::EnumType: return make_named(type->expect<c10::EnumType>(), false);
    case Kind::VarType: {
      ir::Type made;
      made.kind = TypeKind::var;
      made.name = type->expectRef<c10::VarType>().name();
      return std::make_shared<const ir::Type>(std::move(made));
    }
    default: return ir::simple_type(TypeKind::any);
  }
}

}  // namespace compatcheck::frontend::torchscript

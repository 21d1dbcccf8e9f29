#include "ir/type.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace compatcheck::ir {
namespace {

using Sizes = std::vector<std::optional<std::int64_t>>;

bool same_elements(const Type& a, const Type& b, bool (*same)(const Type&, const Type&)) {
  return std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                    [&](const TypeRef& x, const TypeRef& y) { return x == y || (x && y && same(*x, *y)); });
}

bool same_shell(const Type& a, const Type& b) { return a.kind == b.kind && a.name == b.name && a.field_names == b.field_names; }

std::string join(const Sizes& sizes) {
  std::string out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) out += ", ";
    out += sizes[i] ? std::to_string(*sizes[i]) : "*";
  }
  return out;
}

std::string tensor_to_string(const TensorType& t) {
  std::vector<std::string> members;
  if (t.sizes && !t.sizes->empty()) members.push_back(join(*t.sizes));
  if (t.sizes && t.strides && !t.strides->empty()) members.push_back("strides=[" + join(*t.strides) + "]");
  if (t.requires_grad) members.push_back(*t.requires_grad ? "requires_grad=1" : "requires_grad=0");
  if (!t.device.empty()) members.push_back("device=" + t.device);

  std::string out = t.dtype ? std::string(torch_name(*t.dtype)) : "Tensor";
  if (t.dtype && !t.sizes) out += "Tensor";
  if (!t.sizes && members.empty()) return out;
  out += '(';
  for (std::size_t i = 0; i < members.size(); ++i) out += (i > 0 ? ", " : "") + members[i];
  return out + ')';
}

std::string join(const std::vector<TypeRef>& types) {
  std::string out;
  for (std::size_t i = 0; i < types.size(); ++i) out += (i > 0 ? ", " : "") + to_string(*types[i]);
  return out;
}

// The notation drops a NamedTuple's name; it is kept in brackets, so that a graph survives the round trip.
std::string tuple_to_string(const Type& type) {
  if (type.field_names.size() != type.elements.size() || (type.field_names.empty() && type.name.empty()))
    return '(' + join(type.elements) + ')';
  std::string out = "NamedTuple";
  if (!type.name.empty()) out += '[' + type.name + ']';
  out += '(';
  for (std::size_t i = 0; i < type.elements.size(); ++i)
    out += (i > 0 ? ", " : "") + type.field_names[i] + " : " + to_string(*type.elements[i]);
  return out + ')';
}

std::string_view simple_name(TypeKind kind) {
  switch (kind) {
    case TypeKind::integer: return "int";
    case TypeKind::floating: return "float";
    case TypeKind::boolean: return "bool";
    case TypeKind::complex: return "complex";
    case TypeKind::number: return "Scalar";
    case TypeKind::string: return "str";
    case TypeKind::none: return "NoneType";
    case TypeKind::device: return "Device";
    case TypeKind::generator: return "Generator";
    case TypeKind::layout: return "Layout";
    case TypeKind::memory_format: return "MemoryFormat";
    case TypeKind::scalar_type: return "ScalarType";
    case TypeKind::qscheme: return "QScheme";
    case TypeKind::stream: return "Stream";
    case TypeKind::storage: return "Storage";
    case TypeKind::function: return "Function";
    case TypeKind::any_list: return "list";
    case TypeKind::any_tuple: return "tuple";
    case TypeKind::any_class: return "AnyClassType";
    case TypeKind::capsule: return "Capsule";
    default: return "Any";
  }
}

TypeRef make(TypeKind kind, std::vector<TypeRef> elements, std::string name = {}) {
  auto type = std::make_shared<Type>();
  type->kind = kind;
  type->elements = std::move(elements);
  type->name = std::move(name);
  return type;
}

}  // namespace

bool TensorType::operator==(const TensorType& other) const {
  const bool same_quantizer = quantizer == other.quantizer || (quantizer && other.quantizer && *quantizer == *other.quantizer);
  return same_quantizer && dtype == other.dtype && sizes == other.sizes && strides == other.strides &&
         requires_grad == other.requires_grad && device == other.device;
}

bool equal(const Type& a, const Type& b) {
  return &a == &b || (same_shell(a, b) && (a.kind != TypeKind::tensor || a.tensor == b.tensor) && same_elements(a, b, equal));
}

bool same_structure(const Type& a, const Type& b) {
  return &a == &b || (same_shell(a, b) && same_elements(a, b, same_structure));
}

std::string to_string(const Type& type) {
  switch (type.kind) {
    case TypeKind::tensor: return tensor_to_string(type.tensor);
    case TypeKind::list: return to_string(*type.elements[0]) + "[]";
    case TypeKind::optional: return to_string(*type.elements[0]) + '?';
    case TypeKind::tuple: return tuple_to_string(type);
    case TypeKind::dict: return "Dict(" + join(type.elements) + ')';
    case TypeKind::union_of: return "Union(" + join(type.elements) + ')';
    case TypeKind::future: return "Future[" + join(type.elements) + ']';
    case TypeKind::rref: return "RRef[" + join(type.elements) + ']';
    case TypeKind::await_of: return "Await[" + join(type.elements) + ']';
    case TypeKind::named:
    case TypeKind::module:
    case TypeKind::var: return type.name;
    default: return std::string(simple_name(type.kind));
  }
}

TypeRef tensor_type(TensorType tensor) {
  if (tensor == TensorType{}) return simple_type(TypeKind::tensor);
  auto type = std::make_shared<Type>();
  type->kind = TypeKind::tensor;
  type->tensor = std::move(tensor);
  return type;
}

TypeRef simple_type(TypeKind kind) {
  static const auto types = [] {
    std::array<TypeRef, static_cast<std::size_t>(TypeKind::var) + 1> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = make(static_cast<TypeKind>(i), {});
    return all;
  }();
  return types[static_cast<std::size_t>(kind)];
}

TypeRef list_of(TypeRef element) { return make(TypeKind::list, {std::move(element)}); }
TypeRef optional_of(TypeRef element) { return make(TypeKind::optional, {std::move(element)}); }
TypeRef tuple_of(std::vector<TypeRef> elements) { return make(TypeKind::tuple, std::move(elements)); }
TypeRef dict_of(TypeRef key, TypeRef value) { return make(TypeKind::dict, {std::move(key), std::move(value)}); }
TypeRef named_type(std::string qualified_name) { return make(TypeKind::named, {}, std::move(qualified_name)); }
TypeRef module_type(std::string qualified_name) { return make(TypeKind::module, {}, std::move(qualified_name)); }

bool is_tensor_list(const TypeRef& type) { return is(type, TypeKind::list) && is(type->elements[0], TypeKind::tensor); }

bool has_nameable_keys(const TypeRef& type) {
  return is(type, TypeKind::dict) && (is(type->elements[0], TypeKind::string) || is(type->elements[0], TypeKind::integer));
}

bool holds(const Type& type, TypeKind kind) {
  return type.kind == kind || std::any_of(type.elements.begin(), type.elements.end(),
                                          [&](const TypeRef& element) { return element && holds(*element, kind); });
}

}  // namespace compatcheck::ir

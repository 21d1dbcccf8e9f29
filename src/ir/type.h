// TorchScript's types as immutable values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/quantizer.h"

namespace compatcheck::ir {

struct Type;
using TypeRef = std::shared_ptr<const Type>;

// The type of a tensor as the graph states it. An absent `sizes` is an unknown rank; an absent member an unknown size.
struct TensorType {
  std::optional<DType> dtype;
  std::optional<std::vector<std::optional<std::int64_t>>> sizes;
  std::optional<std::vector<std::optional<std::int64_t>>> strides;
  std::optional<bool> requires_grad;
  std::string device;                            // "cpu", "cuda:0"; empty if the graph doesn't say
  std::shared_ptr<const Quantizer> quantizer{};  // an example input's quantizer; null: not known

  bool operator==(const TensorType& other) const;
};

enum class TypeKind : std::uint8_t {
  tensor,
  integer,
  floating,
  boolean,
  complex,
  number,  // number: Scalar, an int, float, bool or complex
  string,
  none,
  device,
  generator,
  layout,
  memory_format,
  scalar_type,
  qscheme,
  stream,
  storage,
  list,
  tuple,
  dict,
  optional,
  union_of,
  future,
  rref,
  await_of,
  named,  // a class, an interface, an enum or a NamedTuple without known fields: `name` is its qualified name
  function,
  any,
  any_list,
  any_tuple,
  any_class,
  capsule,
  module,  // module: a class known to be an nn.Module
  var,     // a type variable of a schema: `name`
};

struct Type {
  TypeKind kind = TypeKind::any;
  TensorType tensor;                     // kind == tensor
  std::vector<TypeRef> elements;         // list, optional, future: 1; dict: key, value; tuple, union_of: any number
  std::string name;                      // named, module, var; a NamedTuple's qualified name (kind tuple)
  std::vector<std::string> field_names;  // NamedTuple
};

bool equal(const Type& a, const Type& b);
// Equal but for what a tensor type says of dtype, sizes, strides and device.
bool same_structure(const Type& a, const Type& b);

// TorchScript's spelling: "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)", "int[]", "Tensor?",
// "(Tensor, int)", "Dict(str, Tensor)", "__torch__.Net".
std::string to_string(const Type& type);

TypeRef tensor_type(TensorType tensor = {});
TypeRef simple_type(TypeKind kind);  // shared instances of kinds without parameters
TypeRef list_of(TypeRef element);
TypeRef optional_of(TypeRef element);
TypeRef tuple_of(std::vector<TypeRef> elements);
TypeRef dict_of(TypeRef key, TypeRef value);
TypeRef named_type(std::string qualified_name);
TypeRef module_type(std::string qualified_name);

inline bool is(const TypeRef& type, TypeKind kind) { return type && type->kind == kind; }
inline bool is_number(const TypeRef& type) {  // an int, float or bool
  return is(type, TypeKind::integer) || is(type, TypeKind::floating) || is(type, TypeKind::boolean);
}
inline bool is_list_of_numbers(const TypeRef& type) { return is(type, TypeKind::list) && is_number(type->elements[0]); }
bool is_tensor_list(const TypeRef& type);
bool has_nameable_keys(const TypeRef& type);  // a dictionary whose keys are texts or ints: names of its members hold them
// Returns the type that an Optional holds, or the type itself.
inline const TypeRef& without_optional(const TypeRef& type) {
  return is(type, TypeKind::optional) ? type->elements.front() : type;
}
// The type itself, or what it is made of at whatever depth.
bool holds(const Type& type, TypeKind kind);
// Also true for a type that isn't known.
inline bool may_hold_tensors(const TypeRef& type) {
  return !type || holds(*type, TypeKind::tensor) || holds(*type, TypeKind::any);
}

}  // namespace compatcheck::ir

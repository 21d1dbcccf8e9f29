// How TorchScript relates its types. Source: aten/src/ATen/core/type.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/type.h"

namespace compatcheck::frontend::native {

// Classes that implement an interface are its subtypes: by their names.
class Interfaces {
 public:
  virtual ~Interfaces() = default;
  virtual bool implements(const std::string& class_name, const std::string& interface_name) const = 0;
};

bool is_subtype(const ir::Type& type, const ir::Type& of, const Interfaces& interfaces);

// The type of what is one of both; null if there is none but a Union.
ir::TypeRef unified(const ir::TypeRef& a, const ir::TypeRef& b, const Interfaces& interfaces);
// Union[a, b] where nothing simpler fits.
ir::TypeRef unified_or_union(const ir::TypeRef& a, const ir::TypeRef& b, const Interfaces& interfaces);

// The types of a schema's type variables in one call.
using TypeVariables = std::map<std::string, ir::TypeRef>;
// Whether `formal` can stand for `actual`; learns what its variables are.
bool bind_variables(const ir::TypeRef& formal, const ir::TypeRef& actual, TypeVariables& variables, const Interfaces& interfaces);
// With its variables replaced; null if one isn't known.
ir::TypeRef with_variables(const ir::TypeRef& formal, const TypeVariables& variables);

// The type of a member, as the type of the whole says; null if it doesn't.
inline ir::TypeRef element_of(const ir::TypeRef& type, std::size_t place) {
  return type && place < type->elements.size() ? type->elements[place] : nullptr;
}

// Types that code builds up are bounded: everybody who walks a type recurses.
class TypeBounds {
 public:
  // Throws ModelError for a type that is nested more than 100 deep or holds more than 10,000 others.
  void check(const ir::TypeRef& type);

 private:
  struct Size {
    std::size_t depth = 0, parts = 1;
  };
  Size measure(const ir::TypeRef& type);
  std::unordered_map<const ir::Type*, std::pair<ir::TypeRef, Size>> known_;
};

// As Python annotates it: "Optional[List[int]]", "__torch__.net.Net".
std::string annotation(const ir::Type& type);

}  // namespace compatcheck::frontend::native

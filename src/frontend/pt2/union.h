// Unions of PyTorch's schema (torch/_export/serde/schema.py): objects with one member that isn't null, whose key is the kind.
#pragma once

#include <string_view>

#include "frontend/pt2/json.h"
#include "ir/type.h"

namespace compatcheck::frontend::pt2 {

struct Tagged {
  std::string_view tag;
  Json value;
};
// Throws ModelError if the union has no value, or more than one.
Tagged tagged(const Json& union_value);

// The name of the value that an argument or result stands for: a tensor, an object or a symbolic number. Empty for constants and
// lists. The text belongs to the document.
std::string_view value_name(const Json& argument);

// int of as_sym_int and as_sym_ints, and so on. Null for other tags.
ir::TypeRef number_type(std::string_view tag);

}  // namespace compatcheck::frontend::pt2

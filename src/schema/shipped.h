// The schemas that are compiled in.
#pragma once

#include <span>
#include <string_view>

#include "schema/traits.h"

namespace compatcheck::schema {

// The text of torch_schemas.txt and library_schemas.txt, one schema a line, overloads of a name together.
extern const std::string_view shipped[2];

struct OperatorTraits {
  std::string_view op;
  TraitSet traits;
};
// The operators of mappings/ that state traits, sorted by name.
extern const std::span<const OperatorTraits> shipped_traits;

}  // namespace compatcheck::schema

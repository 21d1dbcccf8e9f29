#include "schema/traits.h"

#include <algorithm>

#include "schema/shipped.h"

namespace compatcheck::schema {

bool has_trait(std::string_view op, Trait trait) {
  const auto found = std::ranges::lower_bound(shipped_traits, op, {}, &OperatorTraits::op);
  return found != shipped_traits.end() && found->op == op && (found->traits & only(trait)) != 0;
}

}  // namespace compatcheck::schema

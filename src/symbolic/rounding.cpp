// Rounding: facts.
#include <cmath>

#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

// floor, ceil …: integers stay unchanged.
template <double (*round)(double)>
Facts rounded(const Call& call) {
  const TensorFact& self = self_of(call);
  TensorFact result{.dtype = self.dtype, .shape = self.shape, .contents = self.contents};
  if (self.fraction) set_number(result, round(*self.fraction));
  return {{.value = std::move(result)}};
}

}  // namespace

void register_rounding(Registry& registry) {
  registry.facts("aten::floor", rounded<std::floor>);
  registry.facts("aten::ceil", rounded<std::ceil>);
  registry.facts("aten::trunc", rounded<std::trunc>);
  registry.facts("aten::fix", like_self);
}

}  // namespace compatcheck::symbolic

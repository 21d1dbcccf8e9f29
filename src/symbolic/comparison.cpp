// Comparisons that no rule word describes: facts.
#include "symbolic/cast.h"
#include "symbolic/families.h"
#include "symbolic/scalar.h"

namespace compatcheck::symbolic {
namespace {

Facts isin(const Call& call) {
  return {tensor_fact(ir::DType::boolean, call.has("elements") ? tensor_of(call, "elements").shape : std::optional(Shape{}))};
}

}  // namespace

void register_comparison(Registry& registry) {
  registry.facts("aten::isin", isin);
  registry.facts("aten::is_nonzero", of_one_element<to_boolean>);
}

}  // namespace compatcheck::symbolic

// Tensors in another dtype, and as Python's numbers.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

Fact cast(const TensorFact& self, std::optional<ir::DType> dtype);

// int(x), bool(x), x.item(): of exactly one element.
bool takes_one_element(std::string_view op, std::string_view overload);
void demand_one_element(const Call& call);

template <Facts (*function)(const Call&)>
Facts of_one_element(const Call& call) {
  demand_one_element(call);
  return function(call);
}

}  // namespace compatcheck::symbolic

// Elementwise operators: what their operands promote and broadcast to.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

struct Operands {
  std::optional<ir::DType> dtype;
  std::optional<Shape> shape = Shape{};
};

// Tensor and Scalar arguments take part; `alpha` and `value` scale the others and must already be of their kind.
Operands pointwise_operands(const Call& call);

// Returns the fact of the result, with its elements where small integer tensors of known elements are added, multiplied …
Fact pointwise_fact(const Call& call, Operands operands);

}  // namespace compatcheck::symbolic

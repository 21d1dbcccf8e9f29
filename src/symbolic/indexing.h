// Computed positions: what a list of indices reads, and what a tensor of indices must be.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

bool is_mask(ir::DType dtype);
// Indexed dimensions give way to the indices' shape: where they stood if they are adjacent, else in front. `given` may hold None.
std::optional<Shape> indexed_shape(const TensorFact& self, const std::vector<const Fact*>& given);
// `index` is no larger than self, but along `dim`, and no larger than what is written. PyTorch doesn't look at one without
// elements.
void demand_index_fits(const Call& call);

}  // namespace compatcheck::symbolic

// Computed positions: the part that a list of indices reads, and requirements on a tensor of indices.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

bool is_mask(ir::DType dtype);
// Indexed dimensions give way to the indices' shape: where they stood if they are adjacent, else in front. `given` may hold None.
std::optional<Shape> indexed_shape(const TensorFact& self, const std::vector<const Fact*>& given);
// `index` is no larger than self, except along `dim`, and no larger than the written tensor. PyTorch ignores an index without
// elements.
void demand_index_fits(const Call& call);

}  // namespace compatcheck::symbolic

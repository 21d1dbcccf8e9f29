// Pools over windows, for pools of fixed and of adaptive windows and for quantized ones.
#pragma once

#include "handlers/windows.h"

namespace compatcheck::handlers {

// The windows of a pool's arguments, its end padding such that as many windows fit as PyTorch takes. `spatial`: sizes behind
// (batch, channels) of the argument `tensor`.
Windows pool_windows(Emission& e, std::size_t dims, const Shape& spatial, std::string_view tensor = "self");

struct MaxPooled {
  Value values;
  Value positions;  // positions within one image of one channel; set on request
};

// The maximum of each window: MaxPool, or gathered windows if MaxPool doesn't support them. `spatial`: sizes after (batch,
// channels).
MaxPooled max_pool(Emission& e, const Value& input, const Shape& spatial, const Windows& windows, bool positions);
// The maxima over cells of each dimension that the windows slide over; every window has at least one cell.
MaxPooled max_of_cells(Emission& e, const Value& input, const Ints& sizes, std::vector<Cells> cells, bool positions);
// Sums over cells of one dimension.
Value sum_of_cells(Emission& e, const Value& input, std::int64_t rank, std::int64_t axis, std::int64_t size, const Cells& cells);

}  // namespace compatcheck::handlers

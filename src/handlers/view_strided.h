// Strides count elements of the memory behind a tensor.
#pragma once

#include <optional>

#include "handlers/emission.h"
#include "symbolic/layout.h"

namespace compatcheck::handlers {

// Returns offset + k0·stride0 + k1·stride1 + … in row-major order, each k below its size.
Ints strided_positions(const Ints& sizes, const Ints& strides, std::int64_t offset);
symbolic::Layout layout_of_self(const Emission& e);

// The positions in the storage that as_strided and as_strided_scatter reach.
struct Window {
  Ints sizes, strides;
  std::int64_t offset = 0;
};
// nullopt where sizes, strides or offset are computed when the model runs.
std::optional<Window> known_window(const Emission& e, const symbolic::Layout& self);
// The positions of such a window, less `first`, as a tensor of the window's sizes.
Value window_at_run_time(Emission& e, const symbolic::Layout& self, std::int64_t first);

}  // namespace compatcheck::handlers

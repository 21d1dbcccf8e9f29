// Recurrent layers that are written out step by step.
#pragma once

#include "handlers/emission.h"

namespace compatcheck::handlers {

struct ProjectedLayer {
  Value steps, hidden, cell;                                      // (time, batch, …), (batch, …)
  Value input_weight, hidden_weight, input_bias, hidden_bias, projection;
  std::int64_t width = 0;                                         // of the cell
  bool reversed = false;
};
struct ProjectedResult { Value steps, hidden, cell; };

// An LSTM with a projection, which ONNX's has no place for: one direction as a Loop.
ProjectedResult projected_layer(Emission& e, const ProjectedLayer& layer);

}  // namespace compatcheck::handlers

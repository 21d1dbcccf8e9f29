// Which nodes a trial's results depend on. Clean-up removes nodes that nothing reads, so they don't count for the call.
#pragma once

#include <vector>

#include "handlers/emission.h"
#include "onnx/builder.h"
#include "onnx/model.h"

namespace compatcheck::conversion {

// Takes from the runs of nodes, which are those of `model` in the order in which they were added, those that no result in use
// depends on.
void drop_dead(std::vector<onnx::Emitted>& runs, const onnx::Model& model, const handlers::Emission& emission);

// Every result in use is known while converting.
bool gives_constants(const onnx::Model& model, const handlers::Emission& emission);

}  // namespace compatcheck::conversion

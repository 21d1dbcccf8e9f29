// What a trial added and nothing reads: clean-up takes it away, so it is no part of what the call becomes.
#pragma once

#include <vector>

#include "handlers/emission.h"
#include "onnx/builder.h"
#include "onnx/model.h"

namespace compatcheck::conversion {

// Takes from the runs of nodes, which are those of `model` in the order in which they were added, those that no result in use
// depends on.
void drop_dead(std::vector<onnx::Emitted>& runs, const onnx::Model& model, const handlers::Emission& emission);

}  // namespace compatcheck::conversion

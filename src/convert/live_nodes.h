// What a trial's results hang on. What nothing reads clean-up takes away, so it is no part of what the call becomes.
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

// The differences inside two TorchScript models: weights element by element, and the code.
#pragma once

#include "analysis/model_state.h"
#include "compatcheck/diff.h"
#include "ir/watch.h"

namespace compatcheck::model_tools {

// Adds to `made` what the models' reports don't tell.
void compare_torchscript(const Model::State& before, const Model::State& after, const ir::Watch& watch, ModelDifference& made);

}  // namespace compatcheck::model_tools

// The differences inside two TorchScript models: weights element by element, and the code.
#pragma once

#include "analysis/model_state.h"
#include "compatcheck/diff.h"
#include "ir/watch.h"

namespace compatcheck::model_tools {

// Adds differences to `made` that the models' reports don't show.
void compare_torchscript(const Model::State& before, const Model::State& after, const ir::Watch& watch, ModelDifference& made);

}  // namespace compatcheck::model_tools

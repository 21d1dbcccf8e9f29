// What a loaded TorchScript model holds.
#pragma once

#include "compatcheck/inspect.h"
#include "compatcheck/load.h"

namespace compatcheck::model_tools {

// Of a loaded model: a TorchScript file or a graph as text.
Inspection inspect_torchscript(const Model& model, const InspectOptions& options);

}  // namespace compatcheck::model_tools

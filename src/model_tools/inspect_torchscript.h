// The contents of a loaded TorchScript model.
#pragma once

#include "compatcheck/inspect.h"
#include "compatcheck/load.h"

namespace compatcheck::model_tools {

// Inspects a loaded model: a TorchScript file or a graph as text.
Inspection inspect_torchscript(const Model& model, const InspectOptions& options);

}  // namespace compatcheck::model_tools

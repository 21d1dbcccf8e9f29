// Assertions of the model that the ONNX model doesn't have.
#pragma once

#include <vector>

#include "analysis/prepare.h"
#include "compatcheck/report.h"

namespace compatcheck::analysis {

// CC013, one finding for each message: exceptions that TorchScript may raise for the prepared inputs. Exceptions that facts
// rule out aren't reported.
std::vector<Finding> collect_dropped_assertions(const Model::State& model, const Prepared& prepared, const ir::Watch& watch);

}  // namespace compatcheck::analysis

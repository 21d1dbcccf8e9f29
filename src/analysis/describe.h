// The part of a report that describes the model itself.
#pragma once

#include "analysis/model_state.h"
#include "analysis/prepare.h"
#include "compatcheck/report.h"

namespace compatcheck::analysis {

ModelInfo describe_model(const Model::State& model, const Prepared& prepared);

TensorInfo describe(const std::string& name, const symbolic::TensorFact& tensor);

}  // namespace compatcheck::analysis

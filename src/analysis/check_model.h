// A check, with the prepared graph: convert writes the same graph.
#pragma once

#include <span>
#include <vector>

#include "analysis/model_state.h"
#include "analysis/onnx_model.h"
#include "analysis/prepare.h"
#include "compatcheck/check.h"

namespace compatcheck::analysis {

struct CheckedModel {
  const Model::State& state;  // state of the model itself, or of its copy with attributes as inputs and outputs
  Prepared prepared;
  std::vector<Report> reports;  // one for each opset
};

// The model must outlive it. `clean_up`: of the ONNX models that engines look at.
CheckedModel check_model(const Model::State& model, std::span<const int> opsets, const CheckOptions& options,
                         const CleanUp& clean_up = {});

}  // namespace compatcheck::analysis

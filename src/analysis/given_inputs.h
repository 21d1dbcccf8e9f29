// What the caller says of a model's inputs: specs, and example inputs where no spec speaks.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compatcheck/check.h"
#include "convert/facts.h"
#include "ir/graph.h"

namespace compatcheck::analysis {

struct GivenInputs {
  std::vector<conversion::InputFact> facts;
  std::vector<std::string> left_out;  // inputs taken as None, their default
  std::vector<std::string> warnings;  // of another dtype or rank than the graph or its file records; sizes may differ
};

// `none_by_default`: inputs that a call may leave out; None unless the caller speaks of them. Throws UsageError for what doesn't fit
// the model.
GivenInputs given_inputs(const CheckOptions& options, const ir::Graph& graph, std::span<const std::size_t> none_by_default);

}  // namespace compatcheck::analysis

// The inferred dtypes and shapes of inputs, as the report lists them.
#pragma once

#include <vector>

#include "compatcheck/report.h"
#include "inference/infer.h"

namespace compatcheck::analysis {

std::vector<AssumedInput> assumed_inputs(const inference::Inferred& inferred);

}  // namespace compatcheck::analysis

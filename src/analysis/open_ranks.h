// Findings for outputs without a shape (CC017).
#pragma once

#include <vector>

#include "compatcheck/report.h"
#include "conversion/assess.h"

namespace compatcheck::analysis {

// One for each output of which only the running model knows how many dimensions it has. Names the node that decides.
std::vector<Finding> collect_open_ranks(const conversion::Assessment& assessment, const conversion::Context& context);

}  // namespace compatcheck::analysis

// Findings for writes to the model's inputs (CC014), and to attributes that keep their values (CC015).
#pragma once

#include <vector>

#include "analysis/prepare.h"
#include "compatcheck/report.h"

namespace compatcheck::analysis {

// One for each input or attribute, with the places of its writes. State that is an input (--state) loses nothing: its new value
// is an output.
std::vector<Finding> collect_lost_writes(const Prepared& prepared);

}  // namespace compatcheck::analysis

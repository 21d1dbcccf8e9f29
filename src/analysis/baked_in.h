// What tracing may have left out, seen where --input names sizes: notes, as each can be what the model's author wants.
#pragma once

#include <vector>

#include "analysis/prepare.h"
#include "compatcheck/report.h"

namespace compatcheck::analysis {

// Inputs that nothing reads, named sizes that nothing follows, and numbers equal to the size that a trace saw where a name stands
// now.
std::vector<Finding> collect_baked_in(const Model::State& model, const Prepared& prepared);

}  // namespace compatcheck::analysis

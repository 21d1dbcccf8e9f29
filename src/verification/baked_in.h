// Named sizes that a traced constant takes the place of, although the model runs at other sizes.
#pragma once

#include <vector>

#include "analysis/baked_in.h"
#include "compatcheck/verify.h"

namespace compatcheck::verification {

// Adds CC205, an error, for each name that a constant surely stands for, and a warning for each that one may stand for. Names
// that have an error already and names that the user fixes get none.
void report_baked_in(const std::vector<analysis::BakedIn>& found, const VerifyOptions& options, Verification& made);

}  // namespace compatcheck::verification

// The conclusion that follows from the findings of a verification.
#pragma once

#include "compatcheck/verify.h"

namespace compatcheck::verification {

bool violates(const Finding& finding, const Verification& made);  // the finding makes the exit code 1

// Sets `passed`, `violations` and the exit code.
void conclude(Verification& made);

}  // namespace compatcheck::verification

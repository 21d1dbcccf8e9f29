// What the findings of a verification make of it.
#pragma once

#include "compatcheck/verify.h"

namespace compatcheck::verification {

bool violates(const Finding& finding, const Verification& made);  // it makes the exit code 1

// Sets `passed`, `violations` and the exit code.
void conclude(Verification& made);

}  // namespace compatcheck::verification

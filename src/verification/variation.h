// The runs of a verification: the likely sizes of named dimensions, then other sizes of all of them together and of each by
// itself.
#pragma once

#include <functional>

#include "analysis/prepare.h"
#include "compatcheck/verify.h"
#include "verification/reference.h"

namespace compatcheck::verification {

// `compare` is called with each run, and ends the runs where it returns false. A named dimension that can't vary becomes an
// error; a list whose length can't, a note.
void vary(Reference& reference, const VerifyOptions& options, Expected first, const analysis::Prepared& prepared,
          Verification& made, const std::function<bool(const Expected&)>& compare);

// Errors of the sizes that the user fixed and that the model doesn't take.
void report_misfits(const Reference& reference, const analysis::Prepared& prepared, Verification& made);

}  // namespace compatcheck::verification

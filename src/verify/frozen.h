// Why a model runs at one size of a named dimension alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/baked_in.h"
#include "analysis/prepare.h"
#include "compatcheck/report.h"
#include "verify/reference.h"

namespace compatcheck::verification {

struct Frozen {
  std::vector<Site> sites;  // the operator that fails at other sizes
  std::string help;         // what keeps the size: a constant of the trace, a tensor of the file, an input that is static
};

// `reason`: why TorchScript fails at another size than `size`, with the operator's place where that is known. `tie`: the
// equation that other sizes break, if one is known.
Frozen explain_frozen(const std::string& reason, const std::string& name, std::int64_t size, const analysis::Prepared& prepared,
                      const std::optional<FixedTie>& tie = {});

// What the trace left in the place of named sizes although other sizes run: an error for each name that a constant surely stands
// for, a warning for what may be meant. Names that are errors already, and those that the user fixes, are left out.
void tell_baked_in(const std::vector<analysis::BakedIn>& found, const VerifyOptions& options, Verification& made);

}  // namespace compatcheck::verification

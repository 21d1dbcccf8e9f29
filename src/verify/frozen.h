// Why a model runs at one size of a named dimension alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/prepare.h"
#include "compatcheck/report.h"

namespace compatcheck::verification {

struct Frozen {
  std::vector<Site> sites;  // the operator that fails at other sizes
  std::string help;         // what keeps the size: a constant of the trace, a tensor of the file, an input that is static
};

// `reason`: why TorchScript fails at another size than `size`, with the operator's place where that is known.
Frozen explain_frozen(const std::string& reason, const std::string& name, std::int64_t size, const analysis::Prepared& prepared);

}  // namespace compatcheck::verification

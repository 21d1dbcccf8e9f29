// Why a model runs at one size of a named dimension alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/prepare.h"
#include "compatcheck/report.h"
#include "verification/reference.h"

namespace compatcheck::verification {

// The advice that lets a traced size vary.
inline constexpr const char* without_int = "use x.shape[…] or x.size(…) as it is, without int(…), or script the model";

struct Frozen {
  std::vector<Site> sites;  // the operator that fails at other sizes
  std::string help;         // names the cause: a constant of the trace, a tensor of the file, a static input
};

// A node as the interpreter names it where it fails: operator, file and line.
std::string interpreter_place(const ir::Node& node);

// `reason`: why TorchScript fails at another size than `size`, with the operator's place where that is known. `tie`: the
// equation that other sizes break, if one is known.
Frozen explain_frozen(const std::string& reason, const std::string& name, std::int64_t size, const analysis::Prepared& prepared,
                      const std::optional<FixedTie>& tie = {});

}  // namespace compatcheck::verification

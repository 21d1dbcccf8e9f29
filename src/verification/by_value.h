// Bisecting a file whose names identify nothing: values of both sides are paired by their elements.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "verification/bisect.h"
#include "verification/repro.h"

namespace compatcheck::verification {

struct BisectedByValue {
  Bisected found;    // `bad` only where the file is right once it is given TorchScript's value there
  std::string note;  // other possible causes, or the reason why no operator can be named
};

// `input.stands` isn't read. `inputs`: of the file; `outputs`: the graph's values beside the file's outputs. Values pair where
// dtype, shape and all elements agree. Throws ModelError where either side doesn't run.
using PairedOutputs = std::vector<std::pair<const ir::Value*, std::string>>;
BisectedByValue bisect_by_value(const BisectInput& input, const NamedValues& inputs, const PairedOutputs& outputs);

}  // namespace compatcheck::verification

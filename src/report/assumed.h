// Inputs that neither the file nor the caller states, as pages tell of them.
#pragma once

#include <string>
#include <vector>

#include "compatcheck/report.h"

namespace compatcheck::report {

std::vector<TensorInfo> tensors_of(const std::vector<AssumedInput>& all);

// "x: f32[x0, 3, x2, x3]"
std::string assumption(const AssumedInput& input);
// "f32, rank 4: aten::conv2d at net.py:12 in conv1"; "f32: every reader takes it"
std::string reason(const AssumedInput::Reason& reason);

}  // namespace compatcheck::report

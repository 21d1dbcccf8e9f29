// A module whose weights are rounded differently: what that changes in its results is what it makes of rounding.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <string>

namespace compatcheck::frontend::torchscript {

// Parameters, buffers, and the constants of the method's code: last bits change, others with each draw.
void nudge_weights(torch::jit::Module& module, const std::string& method, std::uint64_t draw);

}  // namespace compatcheck::frontend::torchscript

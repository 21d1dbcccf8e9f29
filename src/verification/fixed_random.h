// Results that are random in PyTorch, but not in ONNX Runtime.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verification/match.h"

namespace compatcheck::verification {

inline constexpr int runs_of_random = 20;

using RunAgain = std::function<std::optional<std::vector<Pair>>()>;  // the ONNX model on the same inputs; nullopt if it fails

// The names of the outputs that two calls of PyTorch, with other seeds, give other values, and that are the same in every run of
// ONNX Runtime. Runs until all of them have changed.
std::vector<std::string> fixed_random(const std::vector<Pair>& first, const std::vector<Pair>& second, const RunAgain& run);

}  // namespace compatcheck::verification

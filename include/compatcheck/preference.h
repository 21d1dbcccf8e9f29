// Which form of several a converted operator has.
#pragma once

#include <cstdint>

namespace compatcheck {

enum class Preference : std::uint8_t {
  exact,    // same results as PyTorch for every input
  compact,  // fewer nodes where those differ from PyTorch only for rare inputs (NaN, …), which the report names (CC010)
};

}  // namespace compatcheck

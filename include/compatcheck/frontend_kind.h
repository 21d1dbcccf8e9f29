// The reader of TorchScript files.
#pragma once

#include <cstdint>

namespace compatcheck {

enum class FrontendKind : std::uint8_t {
  automatic,  // our own reader; libtorch, where one is found, for what that reader doesn't support
  native,     // our own reader alone, which needs no libtorch
  libtorch,   // libtorch alone, in the TorchScript helper program
};

}  // namespace compatcheck

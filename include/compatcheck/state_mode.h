// The form of the values that a model keeps between calls.
#pragma once

#include <cstdint>

namespace compatcheck {

// Attributes that a call writes and a later call reads.
enum class StateMode : std::uint8_t {
  refuse,          // CC007
  inputs_outputs,  // each becomes one more input of the ONNX model, and one more output with its value after the call
};

}  // namespace compatcheck

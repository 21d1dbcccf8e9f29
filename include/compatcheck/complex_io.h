// The form of complex tensors among a model's inputs and outputs.
#pragma once

#include <cstdint>

namespace compatcheck {

enum class ComplexIo : std::uint8_t {
  refuse,  // the model doesn't convert
  pairs,   // each is a real tensor of the ONNX model, with real and imaginary parts in a last dimension of 2
};

}  // namespace compatcheck

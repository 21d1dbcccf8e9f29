// The form of quantized tensors among a model's inputs and outputs.
#pragma once

#include <cstdint>

namespace compatcheck {

enum class QuantizedIo : std::uint8_t {
  floats,    // each is the f32 tensor that it stands for
  integers,  // each is the u8 or i8 tensor that it holds
};

}  // namespace compatcheck

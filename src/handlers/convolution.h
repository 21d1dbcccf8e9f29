// Convolutions, for their own operators and for quantized layers.
#pragma once

#include "handlers/windows.h"

namespace compatcheck::handlers {

struct Convolution {
  Value input, weight, bias;  // input (batch, channels, …); bias may be absent
  Shape input_shape, weight_shape;
  Windows windows;
  Ints output_padding;  // for a transposed convolution
  std::int64_t groups = 1;
  bool transposed = false;
};

// Conv or ConvTranspose; products of matrices for dtypes that those don't take.
Value convolve(Emission& e, const Convolution& convolution);

}  // namespace compatcheck::handlers

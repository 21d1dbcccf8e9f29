// Sizes that sliding windows leave: of convolutions, pools and quantized convolutions.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

Dim window_count(const Dim& size, const Dim& kernel, const Dim& stride, const Dim& padding, const Dim& dilation);

struct Windows {
  std::optional<std::vector<Dim>> stride, padding, dilation, output_padding;  // one, or one a dimension
  Dim groups = 1;
  bool transposed = false;
};

// `input` may lack the batch; nullopt while a rank isn't known.
std::optional<Shape> convolved(const TensorFact& input, const TensorFact& weight, const Windows& windows);

}  // namespace compatcheck::symbolic

// How PyTorch chooses strides, in elements (ATen: TensorUtils.cpp, TensorIterator.cpp, ExpandUtils.cpp).
//
// The stride of a dimension of size 1 has no effect: statements about strides are for the other dimensions.
#pragma once

#include <optional>
#include <span>

#include "symbolic/fact.h"
#include "symbolic/registry.h"

namespace compatcheck::symbolic {

struct Strided {
  Shape sizes, strides;
};

// Row-major: the last dimension is the innermost.
Shape strides_in_order(const Shape& sizes);
// Tensor::is_contiguous().
Truth lies_in_order(const Strided& tensor);
// The strides of the same elements in other sizes without a copy (computeStride). `is_view` no: only a copy has these sizes.
struct Reshaped {
  Truth is_view = Truth::unknown;
  Shape strides{};
};
Reshaped reshaped_strides(const Strided& tensor, const Shape& sizes);
// Returns the strides of new memory in the order of the tensor's elements: infer_dense_strides, which preserve_format uses.
std::optional<Shape> preserved_strides(const Strided& tensor);
// Returns the strides that TensorIterator gives to the result of operands that broadcast to `sizes`.
std::optional<Shape> iterated_strides(const Shape& sizes, std::span<const Strided> operands);
// The dimensions from the outermost to the innermost, if the elements fill their memory without gaps; nullopt if that isn't
// known.
std::optional<std::vector<std::int64_t>> dense_order(const Strided& tensor);

}  // namespace compatcheck::symbolic

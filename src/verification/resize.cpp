#include "verification/resize.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace compatcheck::verification {

ir::TensorView resized(const ir::TensorView& tensor, const std::vector<std::int64_t>& sizes) {
  if (sizes == tensor.sizes || tensor.elements() == 0 || !tensor.storage) return tensor;
  const std::size_t bytes = ir::element_bytes(tensor.dtype);
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  auto storage = std::make_shared<ir::Storage>();
  storage->data.resize(static_cast<std::size_t>(count) * bytes);
  storage->bytes = storage->data.size();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t from = 0, left = i, stride = 1;
    for (std::size_t dim = sizes.size(); dim-- > 0;) {
      from += left % sizes[dim] % tensor.sizes[dim] * stride;
      left /= sizes[dim];
      stride *= tensor.sizes[dim];
    }
    std::memcpy(storage->data.data() + static_cast<std::size_t>(i) * bytes,
                tensor.storage->data.data() + static_cast<std::size_t>(from) * bytes, bytes);
  }
  ir::TensorView made{
      .dtype = tensor.dtype, .sizes = sizes, .strides = sizes, .storage = std::move(storage), .quantizer = tensor.quantizer};
  std::int64_t stride = 1;
  for (std::size_t dim = sizes.size(); dim-- > 0; stride *= std::max<std::int64_t>(sizes[dim], 1)) made.strides[dim] = stride;
  return made;
}

}  // namespace compatcheck::verification

// Tensors that carry their elements, for tests.
#pragma once

#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "ir/constant.h"

namespace compatcheck::testing {

template <class T>
ir::TensorView tensor(ir::DType dtype, std::vector<std::int64_t> sizes, const std::vector<T>& elements) {
  auto storage = std::make_shared<ir::Storage>();
  storage->bytes = elements.size() * sizeof(T);
  storage->data.resize(storage->bytes);
  if (storage->bytes > 0) std::memcpy(storage->data.data(), elements.data(), storage->bytes);
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t dim = sizes.size(); dim-- > 1;) strides[dim - 1] = strides[dim] * std::max<std::int64_t>(sizes[dim], 1);
  return {.dtype = dtype,
          .sizes = std::move(sizes),
          .strides = std::move(strides),
          .storage = std::move(storage),
          .quantizer = nullptr};
}

template <class T>
std::vector<T> elements(const ir::TensorView& view) {
  std::vector<T> all(view.storage->data.size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), view.storage->data.data(), view.storage->data.size());
  return all;
}

}  // namespace compatcheck::testing

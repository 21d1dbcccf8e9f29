// Finds the storages and tensors that a pickle names, without creating anything. libtorch's unpickler isn't enough: it forgets
// on which device a tensor was saved, doesn't compare a storage's declared length with its record, and doesn't name the record
// of a tensor that it refuses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace compatcheck::frontend::torchscript {

struct PickledStorage {
  std::string type;    // "FloatStorage"
  std::string key;     // the record's name below data/ or constants/
  std::string device;  // "cuda:0"
  std::int64_t elements = 0;
};

// A tensor as _rebuild_tensor_v2 and _rebuild_qtensor get it.
struct PickledTensor {
  PickledStorage storage;
  std::int64_t offset = 0;
  std::vector<std::int64_t> sizes, strides;
};

struct PickledWeights {
  std::vector<PickledStorage> storages;  // each once per mention
  std::vector<PickledTensor> tensors;
};

// Throws ModelError on a damaged pickle.
PickledWeights scan_weights(std::span<const std::uint8_t> pickle, const std::string& record);

}  // namespace compatcheck::frontend::torchscript

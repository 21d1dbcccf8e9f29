// The bytes of one initializer on their way from the model file to the ONNX file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "onnx/model.h"

namespace compatcheck::onnx {

std::uint64_t byte_count(const TensorData& data);

// Memory that is neither cleared nor given back between weights.
class Scratch {
 public:
  std::uint8_t* at_least(std::size_t bytes);

 private:
  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t size_ = 0;
};

// Writes initializers one after the other at the end of `to`, each in order. `weights`: a descriptor of the file in which views lie. Holds
// at most some 130 megabytes. Throws ModelError (reading), UsageError (writing).
class WeightCopier {
 public:
  WeightCopier(int weights, int to, std::function<void(std::uint64_t)> written) : weights_(weights), to_(to), written_(std::move(written)) {}
  void copy(const TensorData& data);

 private:
  int weights_, to_;
  std::function<void(std::uint64_t)> written_;
  Scratch source_, made_;
};

// All bytes; throws UsageError.
void write_all(int to, const void* bytes, std::size_t count);

}  // namespace compatcheck::onnx

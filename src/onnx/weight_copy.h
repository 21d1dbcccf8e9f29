// The bytes of initializers on their way from the model file to the ONNX file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "onnx/model.h"

namespace compatcheck::onnx {

std::uint64_t byte_count(const TensorData& data);

// An initializer and its place in the file that is written.
struct PlacedWeight {
  const TensorData* data = nullptr;
  std::uint64_t at = 0;
};

// Writes them to their places in `to`, two at a time. `weights`: a descriptor of the file in which views lie. `written` is told
// the bytes done, by this thread alone; what it throws ends the work. Holds at most some 140 megabytes. Throws ModelError
// (reading), UsageError (writing).
void copy_weights(std::span<const PlacedWeight> placed, int weights, int to, const std::function<void(std::uint64_t)>& written);

// Where the elements of views lie, for code that computes with them.
struct WeightFile {
  int descriptor = -1;
  // Instead of a descriptor: fills `into` with a storage's bytes from an offset on. Tensors larger than `most_read` aren't
  // read: results computed from them have a dtype and sizes, but no elements.
  std::function<void(const ir::Storage&, std::uint64_t offset, std::span<std::uint8_t> into)> read{};
  std::uint64_t most_read = 0;
};

// Bytes that read_tensor takes from the model file.
std::uint64_t bytes_to_read(const TensorData& data);

// The tensor without a view: its bytes in order. Throws ModelError.
TensorData read_tensor(const TensorData& data, const WeightFile& weights);

// Multiplies at once where the bytes came along.
void take_factors(TensorData& data);

// All bytes, at a place; throws UsageError.
void write_all(int to, const void* bytes, std::size_t count, std::uint64_t at);

}  // namespace compatcheck::onnx

// The bytes of one initializer on their way from the model file to the ONNX file.
#pragma once

#include <cstdint>
#include <functional>

#include "onnx/model.h"

namespace compatcheck::onnx {

std::uint64_t byte_count(const TensorData& data);

// Writes them at the end of `to`, in order. `weights`: a descriptor of the file in which views lie. Holds at most a few megabytes at
// a time, unless strides leave no order in which to read. Throws ModelError (reading), UsageError (writing).
void copy_weight(const TensorData& data, int weights, int to, const std::function<void(std::uint64_t)>& written);

// All bytes; throws UsageError.
void write_all(int to, const void* bytes, std::size_t count);

}  // namespace compatcheck::onnx

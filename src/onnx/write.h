// Writing a model file: everything but the weights is laid out first, then the weights go from file to file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "onnx/model.h"

namespace compatcheck::onnx {

enum class ExternalData : std::uint8_t { automatic, always, never };  // automatic: where the model would exceed 2 GB

struct WriteOptions {
  ExternalData external_data = ExternalData::automatic;
  // Called as bytes are written, and may throw to end it: done, total.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
};

// `weights`: a descriptor of the file in which views lie, or -1. Checks the model first. The file appears whole, under its name,
// or not at all; so does FILE.data beside it, where there is external data. Throws UsageError where the file can't be written,
// ModelError where a weight can't be read.
void write(const Model& model, int weights, const std::filesystem::path& file, const WriteOptions& options = {});

}  // namespace compatcheck::onnx

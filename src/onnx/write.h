// Writing a model file: everything but the weights is laid out first, then the weights go from file to file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnx/model.h"

namespace compatcheck::onnx {

enum class ExternalData : std::uint8_t { automatic, always, never };  // automatic: where the model would exceed 2 GB

struct WriteOptions {
  ExternalData external_data = ExternalData::automatic;
  // Shapes that the file states, of values whose sizes ONNX's own inference may not find.
  std::unordered_map<ValueId, std::vector<Dimension>> shapes{};
  std::vector<std::pair<std::string, std::string>> metadata{};  // metadata_props
  // Called as bytes are written, and may throw to end it: done, total.
  std::function<void(std::uint64_t, std::uint64_t)> progress{};
};

struct Written {
  std::uint64_t bytes = 0;
  std::uint64_t external_bytes = 0;       // size of the external data file
  std::filesystem::path external_file{};  // empty: there is none
};

// `weights`: a descriptor of the file in which views lie, or -1. Checks the model first. The file appears complete under its
// name or not at all, and so does FILE.data beside it if there is external data. Throws UsageError if the file can't be
// written, ModelError if a weight can't be read.
Written write(const Model& model, int weights, const std::filesystem::path& file, const WriteOptions& options = {});

// Passes the same bytes to `piece`, in order, once all of them are made; writes no external data.
using Piece = std::function<void(std::span<const std::byte>)>;
Written write(const Model& model, int weights, const Piece& piece, const WriteOptions& options = {});

}  // namespace compatcheck::onnx

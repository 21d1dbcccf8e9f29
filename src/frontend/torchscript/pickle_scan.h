// Walks a pickle for the storages it names, without making anything: libtorch's unpickler forgets on which device a
// tensor was saved, and doesn't compare a storage's declared length with its record.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace compatcheck::frontend::torchscript {

struct PickledStorage {
  std::string type;     // "FloatStorage"
  std::string key;      // the record's name below data/ or constants/
  std::string device;   // "cuda:0"
  std::int64_t elements = 0;
};

// Throws ModelError on a damaged pickle. Each storage once per mention.
std::vector<PickledStorage> scan_storages(std::span<const std::uint8_t> pickle, const std::string& record);

}  // namespace compatcheck::frontend::torchscript

// The names in a pickle, found without making anything: enough to distinguish weights from pickled Python objects.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace compatcheck::files {

struct PickledNames {
  std::vector<std::string> classes;  // "collections.OrderedDict", in order, each once
  std::size_t bytes = 0;             // up to and including STOP: offset of the next pickle
  bool whole = false;                // walked to its STOP; else cut short or not a pickle
};

PickledNames names_in_pickle(std::span<const std::uint8_t> pickle);

// The first class that isn't of what torch.save makes of tensors, numbers and containers; empty: weights alone.
std::string foreign_class(const PickledNames& names);

}  // namespace compatcheck::files

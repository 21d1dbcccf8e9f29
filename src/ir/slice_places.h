// Which items l[start:end:step] takes, as Python and TorchScript count them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace compatcheck::ir {

// Returns the places that a slice of a list of `size` items reads; nullopt stands for None. `step` isn't 0.
inline std::vector<std::int64_t> slice_places(std::int64_t size, std::optional<std::int64_t> start,
                                              std::optional<std::int64_t> end, std::int64_t step) {
  const bool forward = step > 0;
  const std::int64_t least = forward ? 0 : -1, most = forward ? size : size - 1;
  const auto place = [&](std::optional<std::int64_t> at, std::int64_t missing) {
    return at ? std::clamp(*at < 0 ? *at + size : *at, least, most) : missing;
  };
  const std::int64_t first = place(start, forward ? 0 : size - 1), last = place(end, forward ? size : -1);
  const std::int64_t stride = std::clamp(step, -size - 1, size + 1);
  std::vector<std::int64_t> places;
  for (std::int64_t i = first; forward ? i < last : i > last; i += stride) places.push_back(i);
  return places;
}

}  // namespace compatcheck::ir

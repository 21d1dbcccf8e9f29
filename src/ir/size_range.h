// The sizes that a dimension may have.
#pragma once

#include <cstdint>
#include <optional>

namespace compatcheck::ir {

// From `least` to `most`; nullopt: no bound on that side.
struct SizeRange {
  std::optional<std::int64_t> least{}, most{};

  bool contains(std::int64_t size) const { return (!least || size >= *least) && (!most || size <= *most); }
  bool operator==(const SizeRange&) const = default;
};

}  // namespace compatcheck::ir

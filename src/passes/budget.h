// The budget of passes for values that grow. Without a bound a few lines of code can need more than a machine has.
#pragma once

#include <cstddef>

#include "ir/graph.h"

namespace compatcheck::passes {

// Longer lists and strings are left for the model to make.
inline constexpr std::size_t most_items = 4096;
inline constexpr std::size_t most_text = 4096;

// For one graph, in all rounds.
struct Budget {
  std::size_t unrolled = 10'000;   // nodes of usual size in copies of loop bodies
  std::size_t folded = 16 << 20;   // bytes of what is computed beforehand
  std::size_t listed = 1'000'000;  // items of lists that are made again
  bool follows = true;             // containers, until that takes too much work
};

// The cost of a copy, in nodes of usual size.
inline std::size_t cost_of(const ir::Node& node) { return 1 + ir::footprint(node) / 1024; }

// Takes `amount` off, if it is there.
inline bool spend(std::size_t& left, std::size_t amount) {
  if (amount > left) return false;
  left -= amount;
  return true;
}

}  // namespace compatcheck::passes

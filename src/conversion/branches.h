// Branches that only the shapes of inputs leave open, and what leaves branches.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "symbolic/call.h"

namespace compatcheck::conversion {

enum class Around : std::uint8_t { branches, branches_and_loops };

class DecidingInputs {
 public:
  explicit DecidingInputs(const symbolic::FactTable& facts) : facts_(facts) {}

  // The model inputs whose dtype and shape decide whether `block` runs at all (conditions of the Ifs around it), or how often
  // (trip counts of the Loops), if this depends only on sizes, ranks and dtypes, and not on elements. Empty if no --input
  // would settle it.
  std::vector<std::uint32_t> of(const ir::Block& block, Around around);

 private:
  const std::vector<std::uint32_t>& of_owner(const ir::Node& owner);

  const symbolic::FactTable& facts_;
  std::unordered_map<const ir::Node*, std::vector<std::uint32_t>> known_;  // keyed by If or Loop
};

// The sizes of a placeholder for a tensor that nothing reads, if it must have the sizes of another one: numbers, and not too
// many elements.
std::optional<std::vector<std::int64_t>> stand_in_sizes(const symbolic::Fact& like);

}  // namespace compatcheck::conversion

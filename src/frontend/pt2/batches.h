// The batch dimensions that torch.vmap hides, while a program is read. A value that has some holds them explicitly: first these
// dimensions, the outermost first, then those that the file states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace compatcheck::frontend::pt2 {

using Levels = std::vector<std::int64_t>;  // ascending

struct Batch {
  Levels levels{};
  std::optional<std::size_t> rank{};  // of what the program sees; nullopt: not known
};

// A result of a region that is a loop: its value in an iteration. The batch dimension is the first of the result.
struct BatchResult {
  std::string_view name;
  ir::Value* value = nullptr;
  Batch batch{};
};

// A region of torch.vmap that is being read.
struct BatchRegion {
  std::int64_t level = 0;
  ir::Value* size = nullptr;
  std::string randomness{};
  ir::Value* iteration = nullptr;  // the number of the iteration, if the region is a loop
  std::vector<BatchResult> results{};
};

class Batches {
 public:
  std::vector<BatchRegion> open{};

  const BatchRegion* region(std::int64_t level) const;
  bool any_explicit() const;               // of the open regions
  Batch of(const ir::Value* value) const;  // of a tensor, or of a list of tensors
  bool is_batched(const ir::Value* value) const { return !of(value).levels.empty(); }
  void set(ir::Value* value, Batch batch);  // completes the type of a tensor, which has the sizes that the file states

 private:
  std::unordered_map<const ir::Value*, Batch> known_;
};

// Thrown where a call can't be written for explicit batch dimensions.
struct Unbatchable {
  std::string reason;
};

}  // namespace compatcheck::frontend::pt2

// The order in which nodes stand, across nested blocks.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>

#include "ir/graph.h"

namespace compatcheck::ir {

// A node comes before those in its blocks; what a block returns is read where the block ends.
class Order {
 public:
  explicit Order(const Graph& graph) { number(*graph.top()); }

  // Nothing for nodes made later.
  std::optional<std::size_t> of(const Node* node) const {
    const auto at = numbers_.find(node);
    return at == numbers_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  void number(const Block& block) {
    for (const Node* node : block) {
      numbers_.emplace(node, numbers_.size());
      for (const Block* inner : node->blocks()) number(*inner);
    }
    numbers_.emplace(block.return_node(), numbers_.size());
  }

  std::unordered_map<const Node*, std::size_t> numbers_;
};

}  // namespace compatcheck::ir

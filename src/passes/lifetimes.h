// When values are made, written and read, branches and loops minded.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/order.h"

namespace compatcheck::passes {

class Lifetimes {
 public:
  explicit Lifetimes(const ir::Graph& graph) : order_(graph) {}

  // The place where the value is made; inputs of the graph are made before everything.
  std::ptrdiff_t made(const ir::Value* value) const;
  std::ptrdiff_t place(const ir::Node* node) const { return static_cast<std::ptrdiff_t>(*order_.of(node)); }
  // The end of what `use` may still read of `value`: of a value from outside a loop, the loop's end.
  std::ptrdiff_t last_read(const ir::Value* value, const ir::Use& use) const;
  // Whether `use` may find in `value` what `write`, at a place after the value was made, has changed.
  bool reads_after(const ir::Value* value, const ir::Use& use, const ir::Node* write) const;
  // A loop runs both, and not `made` each time anew.
  static bool repeated_without(const ir::Node* a, const ir::Node* b, const ir::Block* made);

 private:
  ir::Order order_;
};

// Whether one run of the block in which a value is made runs only one of the two.
bool exclude_each_other(const ir::Node* a, const ir::Node* b, const ir::Block* made);

// Whether the node stands in the block, be it nested.
bool encloses(const ir::Block* block, const ir::Node& node);

}  // namespace compatcheck::passes

// An interpreter for graphs over small integer tensors, with real aliasing: views share their storage, lists are
// references. Enough operators to try passes on random graphs without libtorch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"

namespace compatcheck::passes::tiny {

struct Tensor {
  std::shared_ptr<std::vector<std::int64_t>> storage;
  std::size_t offset = 0;
  std::vector<std::size_t> sizes, strides;

  std::size_t size() const;
  bool contiguous() const;
  std::int64_t& at(std::size_t i) const;  // the last dimension first
};

struct Item;
using Items = std::vector<Item>;

struct Item {
  std::variant<std::monostate, std::int64_t, bool, double, Tensor, std::shared_ptr<Items>> value;
};

Item tensor(const std::vector<std::int64_t>& values, std::vector<std::size_t> sizes);

// The outputs. Throws std::runtime_error for an operator that isn't known here, or a graph that raises.
Items run(const ir::Graph& graph, const Items& inputs);

// Values with everything in them; what shares memory isn't shown.
std::string show(const Items& items);

}  // namespace compatcheck::passes::tiny

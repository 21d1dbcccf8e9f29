// The tensors that a model is given, inside of tuples and lists too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "symbolic/call.h"

namespace compatcheck::inference {

struct Leaf {
  std::string name;  // "x", "pair.0"; of each member of a list, the list's
  const ir::Value* input = nullptr;
  std::vector<std::size_t> path;  // places in tuples inside of tuples
  bool of_list = false;           // each member of a list whose length isn't known

  // Finds the leaf's fact in that of the whole input. Null if the input isn't of this form, as the caller gave None.
  const symbolic::Fact* in(const symbolic::Fact& whole) const;
  symbolic::Fact with(symbolic::Fact whole, symbolic::Fact leaf) const;
};

// Those whose dtype, rank or sizes the facts leave open.
std::vector<Leaf> open_leaves(const ir::Graph& graph, const symbolic::FactTable& facts);

}  // namespace compatcheck::inference

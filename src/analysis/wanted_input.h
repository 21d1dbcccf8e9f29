// What is still to be said of an input, and the option that says it.
#pragma once

#include <cstdint>
#include <string>

#include "ir/graph.h"
#include "symbolic/call.h"

namespace compatcheck::analysis {

struct WantedInput {
  std::string what;    // "the rank of input 'x'"
  std::string option;  // "--input x=f32:x0,x1 where it has 2 dimensions: …"
};

WantedInput wanted_input(const ir::Graph& graph, std::uint32_t input, const symbolic::FactTable& facts);

}  // namespace compatcheck::analysis

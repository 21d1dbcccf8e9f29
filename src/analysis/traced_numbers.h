// Numbers in a traced graph that equal a named size, or a simple part of it, where an operator takes all of a dimension.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "symbolic/call.h"
#include "symbolic/evaluate.h"

namespace compatcheck::analysis {

struct TracedNumber {
  std::string number;   // "9", "9×11"
  std::string because;  // "b was 9 when the model was traced"
  std::vector<std::string> names;
};

// `traced`: the named sizes when the model was traced. Each number may as well be the model's own.
std::vector<TracedNumber> traced_numbers(const ir::Node& node, const symbolic::FactTable& facts, const symbolic::Sizes& traced);

}  // namespace compatcheck::analysis

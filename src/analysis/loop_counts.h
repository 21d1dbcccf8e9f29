// Which sizes and inputs decide how often loops run.
#pragma once

#include <set>
#include <string>

#include "ir/graph.h"
#include "symbolic/call.h"

namespace compatcheck::analysis {

struct LoopCounts {
  std::set<std::string> sizes;          // names
  std::set<const ir::Value*> inputs{};  // numbers and lists
};

LoopCounts loop_counts(const ir::Graph& graph, const symbolic::FactTable& facts);

}  // namespace compatcheck::analysis

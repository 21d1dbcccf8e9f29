// Where a node of an exported program comes from: the user's source and the module, by the node's metadata.
#pragma once

#include <string>
#include <unordered_map>

#include "frontend/pt2/json.h"
#include "ir/graph.h"

namespace compatcheck::frontend::pt2 {

class Origins {
 public:
  void set(ir::Node& node, const Json& exported);

 private:
  ir::LocationRef location(std::string_view stack_trace);

  std::unordered_map<std::string, ir::LocationRef> known_;  // by the stack's text: nodes share them
};

}  // namespace compatcheck::frontend::pt2

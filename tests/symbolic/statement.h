// Facts of a graph given as text: what the tests of families ask.
#pragma once

#include <map>
#include <string>

#include "conversion/facts.h"

namespace compatcheck::symbolic {

struct Statement {
  ir::Graph graph;
  FactTable facts;

  // "f32[batch, 3]", of the graph's i-th output; contents in braces.
  std::string output(std::size_t i = 0) const;
  const ir::Node& node(std::string_view op) const;  // the first of that operator
};

// The body of graph(…): with its return. Inputs: name → "f32[batch,3]", "i64[]", "int", or "anything" for a tensor of which
// nothing is said.
Statement state(const std::map<std::string, std::string>& inputs, const std::string& body);

}  // namespace compatcheck::symbolic

// The branches and loops of a program, what it compares with, and where rounding or ties may decide which way it goes.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace compatcheck::verification {

struct Decisions {
  bool branches = false;                  // there is an If or a Loop
  bool quantizes = false;                 // rounding to steps decides, of which each side may take another
  int nesting = 0;                        // the depth of nested loops
  bool asserts = false;                   // it may refuse what an input holds
  bool rounds = false;                    // some floats are sums or functions, which both sides may round differently
  std::vector<double> compared;           // constants that something is compared with, each once, in the graph's order
  std::vector<double> held;               // the other numbers that it computes with
  std::vector<const ir::Node*> choosers;  // topk, sort and such: PyTorch promises no order among equal values
};

Decisions decisions_of(const ir::Graph& graph);

}  // namespace compatcheck::verification

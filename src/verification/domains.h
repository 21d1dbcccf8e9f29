// Which values an input may have, by what consumes it: indices stay inside of what they index.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "symbolic/call.h"

namespace compatcheck::verification {

struct Domain {
  std::vector<symbolic::Dim> below;   // integers are from 0 on and below each of these; empty: nothing bounds them
  std::vector<symbolic::Dim> chosen;  // the same of Python's numbers that are read from it, which may index in some branches only
  bool follows_itself = false;        // an element is the place of another one: a permutation leads on and back
  std::optional<symbolic::Dim> longest;  // set of lengths of packed sequences: from 1 to this, falling
  bool divides = false;                  // never 0
  bool share = false;                    // from 0 to 1
};

Domain domain_of(const ir::Value* input, const symbolic::FactTable& facts);

}  // namespace compatcheck::verification

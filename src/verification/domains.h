// Valid values of an input, from the operators that consume it: indices stay inside of the dimension that they index.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "symbolic/call.h"

namespace compatcheck::verification {

struct Domain {
  std::vector<symbolic::Dim> below;      // integers are from 0 on and below each of these; empty: nothing bounds them
  std::vector<symbolic::Dim> chosen;     // the same for Python numbers read from it, which may be indices in some branches only
  bool follows_itself = false;           // an element is the place of another one: a permutation fits
  std::optional<symbolic::Dim> longest;  // set of lengths of packed sequences: from 1 to this, descending
  bool divides = false;                  // never 0
  bool share = false;                    // 0 to 1
};

Domain domain_of(const ir::Value* input, const symbolic::FactTable& facts);

}  // namespace compatcheck::verification

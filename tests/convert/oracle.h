// Facts against what execution gave.
#pragma once

#include <string>
#include <vector>

#include "symbolic/evaluate.h"
#include "symbolic/fact.h"

namespace compatcheck::conversion {

struct Actual {
  ir::DType dtype{};
  std::vector<std::int64_t> sizes;
};

struct Comparison {
  bool complete = false;   // dtype and every size were known
  std::string difference;  // empty: nothing that was known is wrong
};

Comparison compare(const symbolic::Fact& fact, const Actual& actual);
symbolic::Fact fact_of(const Actual& actual);
// The same tensor with every size by a name of its own, which `sizes` gets with its value.
symbolic::Fact with_named_sizes(const Actual& actual, symbolic::Sizes& sizes);
// The fact for those sizes.
symbolic::Fact evaluated(symbolic::Fact fact, const symbolic::Sizes& sizes);
std::string to_string(const Actual& actual);
std::string spell(const symbolic::Fact& fact);  // with its contents

}  // namespace compatcheck::conversion

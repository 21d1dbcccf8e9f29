// Facts against what execution gave.
#pragma once

#include <string>
#include <vector>

#include "symbolic/fact.h"

namespace compatcheck::convert {

struct Actual {
  ir::DType dtype{};
  std::vector<std::int64_t> sizes;
};

struct Comparison {
  bool complete = false;     // dtype and every size were known
  std::string difference;    // empty: nothing that was known is wrong
};

Comparison compare(const symbolic::Fact& fact, const Actual& actual);
symbolic::Fact fact_of(const Actual& actual);
std::string to_string(const Actual& actual);
std::string spell(const symbolic::Fact& fact);  // with its contents

}  // namespace compatcheck::convert

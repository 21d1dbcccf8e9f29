// Types of operators that nobody registers, as code uses what they take and return.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/type.h"

namespace compatcheck::frontend {

// The use that code makes of a call's result.
struct ResultUse {
  std::string type{};        // the type that the code states, "List[Tensor]"; empty if none
  std::size_t targets = 1;   // `a, b = f(x)`; 0: the result is dropped
  bool unpacked = false;     // `a, b, = f(x)`: the result is a list or a tuple
  bool subscripted = false;  // `f(x)[0]`: a list
};

// Types of results to try, as schemas spell them, the likeliest first.
std::vector<std::string> result_types(const ResultUse& use);

// One type that covers both; null is "not seen yet".
ir::TypeRef common_type(const ir::TypeRef& a, const ir::TypeRef& b);

}  // namespace compatcheck::frontend

// Whether a table row applies to a call.
#pragma once

#include "mapping/row.h"
#include "symbolic/call.h"
#include "symbolic/registry.h"

namespace compatcheck::symbolic {

// `when` and `requires` of the row. The message names the argument, what the row needs and what the call has.
Verdict applies(const mapping::Row& row, const Call& call, const Registry& registry);

// The rule for every mapped row: complex tensors need `complex: true`.
Verdict takes_dtypes(const mapping::Row& row, const Call& call);

}  // namespace compatcheck::symbolic

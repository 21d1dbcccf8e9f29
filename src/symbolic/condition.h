// Whether a table row applies to a call.
#pragma once

#include "mapping/row.h"
#include "schema/schema.h"
#include "symbolic/call.h"
#include "symbolic/registry.h"

namespace compatcheck::symbolic {

// `when` and `requires` of the row. The message names the argument, what the row needs and what the call has. An argument that
// the called overload lacks counts as its default in the overloads that have it.
Verdict applies(const mapping::Row& row, const Call& call, const Registry& registry, const schema::Registry& schemas);

// Checks the conditions that PyTorch itself sets.
Verdict accepts(const mapping::Validity& valid, std::string_view facts_word, const Call& call, const Registry& registry,
                const schema::Registry& schemas);

// Whether the value is known when converting, whatever the model is given.
bool is_constant(const Fact& fact);

bool is_complex(const Fact& fact);   // a complex tensor, or a list that holds one
bool has_complex(const Call& call);  // looks at arguments and results. Unknown dtypes count as real: few tensors are complex

// The rule for every mapped row: complex tensors need `complex: true`, or that the operator computes with their parts.
Verdict takes_dtypes(const mapping::Row& row, const mapping::ComplexForm& form, const Call& call);

}  // namespace compatcheck::symbolic

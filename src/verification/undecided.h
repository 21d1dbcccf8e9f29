// Runs whose result the inputs don't decide: a difference there is no fault.
#pragma once

#include <string>

#include "analysis/prepare.h"
#include "compatcheck/verify.h"
#include "verification/judge.h"
#include "verification/reference.h"

namespace compatcheck::verification {

// Returns an operator that chose among equal values in this run, in no order that PyTorch promises: "aten::topk at model.py:3".
// Empty if none did, or if that can't be known.
std::string chose_among_equals(Reference& reference, const Model::State& model, const VerifyOptions& options,
                               const analysis::Prepared& prepared, const Expected& expected);

// Whether PyTorch's own result jumps with the last bits of inputs or weights.
bool is_at_edge(Reference& reference, const Judge& judge, const Expected& expected);

}  // namespace compatcheck::verification

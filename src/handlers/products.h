// Matrix products as several families need them.
#pragma once

#include "handlers/emission.h"

namespace compatcheck::handlers {

// [..., m, k] times [..., k, n], of one dtype; either may be a vector, as PyTorch's matmul has it.
Value matrix_product(Emission& e, const Value& a, std::int64_t rank_a, const Value& b, std::int64_t rank_b);
// The last two dimensions changed.
Value transposed(Emission& e, const Value& matrix, std::int64_t rank);

}  // namespace compatcheck::handlers

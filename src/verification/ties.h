// Indices of equally large elements: sort, topk and argmax may name any of them.
#pragma once

#include <optional>

#include "ir/constant.h"
#include "ir/graph.h"
#include "symbolic/call.h"
#include "verification/compare.h"

namespace compatcheck::verification {

// How an output of an operator indexes its input.
struct IndexedBy {
  const ir::Value* input = nullptr;
  std::optional<std::int64_t> dim;  // none: the input as one row
  bool distinct = false;            // along `dim` no index stands twice
};

// nullopt: `value` doesn't contain indices, or their dimension isn't known. Follows casts and reshapes of the indices.
std::optional<IndexedBy> indexed_by(const ir::Value* value, const symbolic::FactTable& facts);

// Both of the operator's result; where they differ they name elements of `input` (contiguous, with its bytes) that are within
// `tolerance` of each other.
bool is_tie(const IndexedBy& by, const ir::TensorView& input, const ir::TensorView& expected, const ir::TensorView& found,
            const Tolerance& tolerance);

// Whether two elements of a row along `dim` are equal. `tensor` is contiguous, with its bytes.
bool has_equals(const ir::TensorView& tensor, std::int64_t dim);

}  // namespace compatcheck::verification

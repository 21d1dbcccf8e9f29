// Positions in a triangle of a matrix: facts.
#include <algorithm>

#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

template <bool lower>
Facts triangle_indices(const Call& call) {
  const auto rows = call.integer("row"), columns = call.integer("col"), offset = call.integer("offset");
  constexpr std::int64_t most = 1 << 30;
  const auto is_small = [](const std::optional<std::int64_t>& number) { return number && *number >= -most && *number <= most; };
  Dim count = Dim::unknown();
  if (is_small(rows) && is_small(columns) && is_small(offset) && *rows >= 0 && *columns >= 0) {
    // Elements with column − row ≤ offset: row i has i + width of them, not less than 0 nor more than there are columns.
    const std::int64_t width = (lower ? *offset : *offset - 1) + 1;  // upper triangle: all minus the lower one at offset - 1
    const std::int64_t first = std::clamp<std::int64_t>(1 - width, 0, *rows),
                       full = std::clamp<std::int64_t>(*columns - width, first, *rows);
    const std::int64_t growing = (first + width + full - 1 + width) * (full - first) / 2;
    const std::int64_t below = growing + (*rows - full) * *columns;
    count = lower ? below : *rows * *columns - below;
  }
  return {tensor_fact(dtype_or(call, ir::DType::i64), Shape{2, count})};
}

}  // namespace

void register_triangle(Registry& registry) {
  registry.facts("aten::tril_indices", triangle_indices<true>);
  registry.facts("aten::triu_indices", triangle_indices<false>);
}

}  // namespace compatcheck::symbolic

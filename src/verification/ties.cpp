#include "verification/ties.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "schema/traits.h"

namespace compatcheck::verification {
namespace {

using schema::has_trait;
using schema::Trait;

// Indices along one dimension: `outer` rows, of which each names places of `length`, `inner` apart.
struct Rows {
  std::uint64_t outer = 1, length = 1, inner = 1;
};

Rows rows_of(const std::vector<std::int64_t>& sizes, std::optional<std::int64_t> dim) {
  Rows rows;
  if (!dim) {
    for (const std::int64_t size : sizes) rows.length *= static_cast<std::uint64_t>(size);
    return rows;
  }
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const std::int64_t axis = *dim < 0 ? *dim + rank : *dim;
  for (std::int64_t i = 0; i < rank; ++i)
    (i < axis    ? rows.outer
     : i == axis ? rows.length
                 : rows.inner) *= static_cast<std::uint64_t>(sizes[static_cast<std::size_t>(i)]);
  return rows;
}

std::int64_t index_at(const ir::TensorView& indices, std::uint64_t place) {
  return static_cast<std::int64_t>(element_of(indices, place));  // exact: an index is a place in memory
}

bool near(double a, double b, const Tolerance& tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance.absolute + tolerance.relative * std::abs(a);
}

}  // namespace

std::optional<IndexedBy> indexed_by(const ir::Value* value, const symbolic::FactTable& facts) {
  const ir::Value* output = value;
  while (output->producer() && has_trait(output->producer()->op(), Trait::same_order)) output = output->producer()->input(0);
  const ir::Node* node = output->producer();
  if (!node || !node->schema() || output != node->outputs().back()) return std::nullopt;
  const bool distinct = has_trait(node->op(), Trait::distinct_indices);
  if (!distinct && !has_trait(node->op(), Trait::indices)) return std::nullopt;
  const symbolic::Call call(*node, facts);
  const ir::Value* input = call.value("self");
  if (!input) return std::nullopt;
  const auto dim = call.has("dim") ? call.integer("dim") : std::nullopt;
  if (!dim && !(call.has("dim") && call.is_none("dim"))) return std::nullopt;
  return IndexedBy{input, dim, distinct};
}

bool is_tie(const IndexedBy& by, const ir::TensorView& input, const ir::TensorView& expected, const ir::TensorView& found,
            const Tolerance& tolerance) {
  if (expected.dtype != found.dtype || expected.sizes != found.sizes || ir::is_complex(input.dtype)) return false;
  if (by.dim && !input.sizes.empty() &&
      (*by.dim < -static_cast<std::int64_t>(input.sizes.size()) || *by.dim >= static_cast<std::int64_t>(input.sizes.size())))
    return false;
  const Rows rows = rows_of(input.sizes, input.sizes.empty() ? std::nullopt : by.dim);
  const auto indices = static_cast<std::uint64_t>(expected.elements());
  if (rows.outer * rows.inner == 0 || indices % (rows.outer * rows.inner) != 0) return false;
  const std::uint64_t each = indices / (rows.outer * rows.inner);  // indices in each row
  for (std::uint64_t outer = 0; outer < rows.outer; ++outer)
    for (std::uint64_t inner = 0; inner < rows.inner; ++inner) {
      std::set<std::int64_t> seen;
      for (std::uint64_t i = 0; i < each; ++i) {
        const std::uint64_t place = (outer * each + i) * rows.inner + inner;
        const std::int64_t right = index_at(expected, place), got = index_at(found, place);
        if (by.distinct && !seen.insert(got).second) return false;
        if (right == got) continue;
        if (got < 0 || right < 0 || static_cast<std::uint64_t>(std::max(got, right)) >= rows.length) return false;
        const auto element = [&](std::int64_t index) {
          return element_of(input, (outer * rows.length + static_cast<std::uint64_t>(index)) * rows.inner + inner);
        };
        if (!near(element(right), element(got), tolerance)) return false;
      }
    }
  return true;
}

bool has_equals(const ir::TensorView& tensor, std::int64_t dim) {
  const auto rank = static_cast<std::int64_t>(tensor.sizes.size());
  if (rank == 0 || dim < -rank || dim >= rank || ir::is_complex(tensor.dtype) || !tensor.storage) return false;
  const Rows rows = rows_of(tensor.sizes, dim);
  for (std::uint64_t outer = 0; outer < rows.outer; ++outer)
    for (std::uint64_t inner = 0; inner < rows.inner; ++inner) {
      std::set<double> seen;
      for (std::uint64_t i = 0; i < rows.length; ++i)
        if (!seen.insert(element_of(tensor, (outer * rows.length + i) * rows.inner + inner)).second) return true;
    }
  return false;
}

}  // namespace compatcheck::verification

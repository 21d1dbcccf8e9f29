#include "symbolic/strides.h"

#include <algorithm>
#include <numeric>

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using Ints = std::vector<std::int64_t>;

std::optional<Ints> known_numbers(const Shape& dims) {
  Ints all;
  for (const Dim& dim : dims) {
    if (!dim.is_number()) return std::nullopt;
    all.push_back(*dim.number());
  }
  return all;
}

// Thrown where a comparison of named sizes is open.
struct Open {};

bool proved_equal(const Dim& a, const Dim& b) {
  if (provably_equal(a, b)) return true;
  if (provably_different(a, b)) return false;
  throw Open{};
}

bool below(const Dim& a, const Dim& b) {
  if (provably_at_least(b - a, 1)) return true;
  if (provably_equal(a, b) || provably_at_least(a - b, 0)) return false;
  throw Open{};
}

bool has(const Shape& sizes, std::int64_t size) {
  return std::ranges::any_of(sizes, [&](const Dim& dim) { return dim.number() == size; });
}

// computeStride: neighbouring dimensions that lie side by side are a chunk, which new dimensions must fill.
std::optional<Shape> view_strides(const Strided& tensor, const Shape& sizes) {
  Shape strides(sizes.size(), 1);
  auto at = static_cast<std::ptrdiff_t>(sizes.size()) - 1;
  Dim chunk_stride = tensor.strides.back(), chunk = 1, filled = 1;
  for (std::size_t d = tensor.sizes.size(); d-- > 0;) {
    chunk = chunk * tensor.sizes[d];
    if (d > 0 && (proved_equal(tensor.sizes[d - 1], 1) || proved_equal(tensor.strides[d - 1], chunk * chunk_stride))) continue;
    for (; at >= 0; --at) {
      const Dim& size = sizes[static_cast<std::size_t>(at)];
      if (!below(filled, chunk) && !proved_equal(size, 1)) break;
      strides[static_cast<std::size_t>(at)] = filled * chunk_stride;
      filled = filled * size;
    }
    if (!proved_equal(filled, chunk)) return std::nullopt;
    if (d > 0) chunk_stride = tensor.strides[d - 1], chunk = 1, filled = 1;
  }
  return at == -1 ? std::optional(strides) : std::nullopt;
}

// Compares two dimensions: below 0 if `a` is the inner one, above 0 if `b` is, 0 if no operand decides it. Stretched ones decide
// nothing.
int compare(std::size_t a, std::size_t b, const Ints& sizes, const std::vector<Ints>& operands) {
  for (const Ints& strides : operands) {
    if (strides[a] == 0 || strides[b] == 0) continue;
    if (strides[a] != strides[b]) return strides[a] < strides[b] ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

// TensorIterator's insertion sort, which skips a comparison without a result.
std::vector<std::size_t> inside_out(const Ints& sizes, const std::vector<Ints>& operands) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.rbegin(), order.rend(), 0);
  for (std::size_t i = 1; i < order.size(); ++i)
    for (std::size_t inserted = i, before = i; before-- > 0;) {
      const int comparison = compare(order[before], order[inserted], sizes, operands);
      if (comparison < 0) break;
      if (comparison > 0) std::swap(order[before], order[inserted]), inserted = before;
    }
  return order;
}

Shape packed(const Ints& sizes, const std::vector<std::size_t>& order) {
  Shape strides(sizes.size(), 1);
  std::int64_t next = 1;
  for (const std::size_t dim : order) {
    strides[dim] = next;
    next *= std::max<std::int64_t>(sizes[dim], 1);
  }
  return strides;
}

// By TensorIterator's rules: dimensions that it lacks or stretches have no stride.
std::optional<Ints> stretched(const Strided& operand, const Ints& sizes) {
  const auto own = known_numbers(operand.sizes), strides = known_numbers(operand.strides);
  if (!own || !strides || own->size() > sizes.size()) return std::nullopt;
  Ints all(sizes.size() - own->size(), 0);
  for (std::size_t i = 0; i < own->size(); ++i) all.push_back((*own)[i] == 1 && sizes[all.size()] != 1 ? 0 : (*strides)[i]);
  return all;
}

bool are_equal(const Shape& a, const Shape& b) {
  return std::ranges::equal(a, b, [](const Dim& one, const Dim& other) { return provably_equal(one, other); });
}

}  // namespace

Shape strides_in_order(const Shape& sizes) {
  Shape strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = sizes[i].number() == 0 ? strides[i] : strides[i] * sizes[i];
  return strides;
}

Truth lies_in_order(const Strided& tensor) {
  if (has(tensor.sizes, 0)) return Truth::yes;
  Truth truth = Truth::yes;
  Dim next = 1;
  for (std::size_t i = tensor.sizes.size(); i-- > 0;) {
    const Dim& size = tensor.sizes[i];
    if (size.number() == 1) continue;
    if (!provably_equal(tensor.strides[i], next)) {
      const bool places = provably_at_least(size, 2) &&
                          std::ranges::all_of(tensor.sizes, [](const Dim& dim) { return provably_at_least(dim, 1); });
      if (places && provably_different(tensor.strides[i], next)) return Truth::no;
      truth = Truth::unknown;
    }
    next = next * size;
  }
  return truth;
}

Reshaped reshaped_strides(const Strided& tensor, const Shape& sizes) {
  if (tensor.sizes.empty() || lies_in_order(tensor) == Truth::yes) return {Truth::yes, strides_in_order(sizes)};
  if (has(sizes, 0)) return {};
  try {
    const auto strides = view_strides(tensor, sizes);
    return strides ? Reshaped{Truth::yes, *strides} : Reshaped{Truth::no, strides_in_order(sizes)};
  } catch (const Open&) {
    return {};
  }
}

std::optional<Shape> preserved_strides(const Strided& tensor) { return iterated_strides(tensor.sizes, {&tensor, 1}); }

std::optional<Shape> iterated_strides(const Shape& sizes, std::span<const Strided> operands) {
  if (std::ranges::all_of(operands, [](const Strided& operand) { return lies_in_order(operand) == Truth::yes; }))
    return strides_in_order(sizes);
  // The first operand with dimensions decides the order of any two, unless it is stretched.
  const auto whole = std::ranges::find_if(operands, [](const Strided& operand) { return !operand.sizes.empty(); });
  if (whole != operands.end() && are_equal(whole->sizes, sizes) && dense_order(*whole)) return whole->strides;
  const auto known = known_numbers(sizes);
  if (!known || has(sizes, 0)) return std::nullopt;
  std::vector<Ints> strides;
  for (const Strided& operand : operands) {
    auto own = stretched(operand, *known);
    if (!own) return std::nullopt;
    strides.push_back(std::move(*own));
  }
  return packed(*known, inside_out(*known, strides));
}

std::optional<std::vector<std::int64_t>> dense_order(const Strided& tensor) {
  std::vector<std::int64_t> order, left(tensor.sizes.size());
  std::iota(left.begin(), left.end(), 0);
  const auto size = [&](std::int64_t dim) -> const Dim& { return tensor.sizes[static_cast<std::size_t>(dim)]; };
  for (Dim next = 1; !left.empty();) {
    auto found = std::ranges::find_if(left, [&](std::int64_t dim) { return size(dim).number() == 1; });
    if (found == left.end())
      found = std::ranges::find_if(
          left, [&](std::int64_t dim) { return provably_equal(tensor.strides[static_cast<std::size_t>(dim)], next); });
    if (found == left.end()) return std::nullopt;
    next = next * size(*found);
    order.insert(order.begin(), *found);
    left.erase(found);
  }
  return order;
}

}  // namespace compatcheck::symbolic

#include "files/extent.h"

namespace compatcheck::files {

std::optional<std::int64_t> reach(std::int64_t offset, std::span<const std::int64_t> sizes,
                                  std::span<const std::int64_t> strides) {
  std::int64_t last = offset;
  if (last < 0 || sizes.size() != strides.size()) return std::nullopt;
  bool empty = false;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::int64_t span = 0;
    if (sizes[d] < 0 || strides[d] < 0) return std::nullopt;
    if (sizes[d] == 0)
      empty = true;
    else if (__builtin_mul_overflow(sizes[d] - 1, strides[d], &span) || __builtin_add_overflow(last, span, &last))
      return std::nullopt;
  }
  if (empty) return 0;
  return __builtin_add_overflow(last, 1, &last) ? std::nullopt : std::optional(last);
}

bool fits(std::optional<std::int64_t> elements, std::size_t element, std::uint64_t storage) {
  std::uint64_t bytes = 0;
  return elements && !__builtin_mul_overflow(static_cast<std::uint64_t>(*elements), element, &bytes) && bytes <= storage;
}

}  // namespace compatcheck::files

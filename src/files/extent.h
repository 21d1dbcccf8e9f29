// Whether a tensor lies inside its storage. Numbers from files: any may overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace compatcheck::files {

// The bytes of storages up to this size come along, so that shapes can be computed with them: sizes, divisors and indices.
inline constexpr std::uint64_t small_storage_bytes = 512;

// One more than the last element the tensor reaches; nullopt if that overflows or a number is negative.
std::optional<std::int64_t> reach(std::int64_t offset, std::span<const std::int64_t> sizes,
                                  std::span<const std::int64_t> strides);

// Whether so many elements of `element` bytes fit in `storage` bytes; nullopt never fits.
bool fits(std::optional<std::int64_t> elements, std::size_t element, std::uint64_t storage);

}  // namespace compatcheck::files

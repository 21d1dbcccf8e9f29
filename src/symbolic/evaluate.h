// Dims over sizes of which something is known: their numbers, their bounds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "symbolic/dim.h"

namespace compatcheck::symbolic {

using Sizes = std::map<std::string, std::int64_t>;

// nullopt for an unknown dim, one over other names, a division by 0, or a result beyond 64 bits.
std::optional<std::int64_t> evaluate(const Dim& dim, const Sizes& sizes);

// The names that it is spelled with, in order, each once.
std::vector<std::string> names_in(const Dim& dim);

bool has_quotient(const Dim& dim);

// The same, with these bounds in place of those stated before, of the names that have some here.
using NamedRanges = std::map<std::string, SizeRange>;
Dim with_ranges(const Dim& dim, const NamedRanges& stated);

// Returns the value of the only name in the dim where the dim is `size`: 3 for 2*n and 6. nullopt if the dim has no name or
// several, or if nothing fits. Sizes up to most_solved are tried; a dim that grows evenly is solved for all.
inline constexpr std::int64_t most_solved = 1 << 16;
std::optional<std::int64_t> solve(const Dim& dim, std::int64_t size);

}  // namespace compatcheck::symbolic

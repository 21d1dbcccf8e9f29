// Sizes when any dimension may be empty, unless a least size is stated for its name.
#pragma once

#include <cstdint>

#include "symbolic/dim.h"

namespace compatcheck::symbolic {

SizeRange bounds(const Dim& size);
// Like provably_at_least, which assumes that named sizes are at least 1; here they may be 0. For conditions that decide which
// path a model takes, and for nodes that are left out if there are elements.
bool provably_at_least_if_empty(const Dim& a, std::int64_t bound);
bool never_one(const Dim& size);
// One of the two; unknown where it isn't proved to be the larger or smaller one.
Dim larger(const Dim& a, const Dim& b);
Dim smaller(const Dim& a, const Dim& b);
// "min(batch, 1)": 1 unless the size is 0. It is provably equal to 1, as named sizes are at least 1, but no number.
Dim at_most_one(const Dim& size);

}  // namespace compatcheck::symbolic

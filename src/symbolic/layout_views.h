// The layouts of views: the same memory by other strides.
#pragma once

#include <optional>

#include "symbolic/layout.h"

namespace compatcheck::symbolic {

// A tensor that views refer to.
struct Viewed {
  Shape sizes, strides;
  Dim offset;
};

bool takes_view(std::string_view op);
// Returns the view of `self` that the call's output is; nullopt where it isn't known.
std::optional<Viewed> view_of(const Call& call, const Viewed& self);
// A part of the list that `split` makes.
std::optional<Viewed> part_of_split(const Call& split, const Viewed& self, std::size_t part);

}  // namespace compatcheck::symbolic

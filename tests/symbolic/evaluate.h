// The number that a spelled Dim is for given sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "symbolic/dim.h"

namespace compatcheck::symbolic {

using Sizes = std::map<std::string, std::int64_t>;

// nullopt for an unknown dim, or one over other names. Throws std::runtime_error where the text isn't an expression.
std::optional<std::int64_t> evaluate(const Dim& dim, const Sizes& sizes);

}  // namespace compatcheck::symbolic

// Values whose number of dimensions depends on the way that the program takes.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "ir/graph.h"
#include "symbolic/fact.h"

namespace compatcheck::conversion {

// Returns the source's name of the first of these values that has one: "`loss`", or "a variable".
std::string variable(std::initializer_list<const ir::Value*> values);

struct ChangedRank {
  std::string reason, hint;
};

// Why a result of the If or Loop has no known rank; nothing if that isn't because its ways give several.
std::optional<ChangedRank> changed_rank(const ir::Node& control, const symbolic::FactTable& facts);

}  // namespace compatcheck::conversion

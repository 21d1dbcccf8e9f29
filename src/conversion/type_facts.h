// The facts that a value's type states.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "ir/type.h"
#include "symbolic/fact.h"

namespace compatcheck::conversion {

symbolic::Fact fact_of_type(const ir::TypeRef& type);

// Nothing is left open.
bool complete(const symbolic::Fact& fact);

// An int that only the model's caller knows. `sizes`: names of sizes, of which it is none: two sizes of one name are equal.
symbolic::Fact fact_of_integer(std::string name, const std::set<std::string, std::less<>>& sizes);

}  // namespace compatcheck::conversion

// The facts that a value's type states.
#pragma once

#include "ir/type.h"
#include "symbolic/fact.h"

namespace compatcheck::conversion {

symbolic::Fact fact_of_type(const ir::TypeRef& type);

// Nothing is left open.
bool complete(const symbolic::Fact& fact);

}  // namespace compatcheck::conversion

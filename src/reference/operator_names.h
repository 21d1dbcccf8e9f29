// Operators as people name them.
#pragma once

#include <string>

#include "lint/in_force.h"

namespace compatcheck::reference {

// "relu" → "aten::relu"; throws UsageError with the nearest names for an unknown operator.
std::string full_name(const std::string& name, const lint::InForce& in_force);

}  // namespace compatcheck::reference

// The output of `explain OP --scaffold`: a mapping file, or a plugin, to start from.
#pragma once

#include <string>

#include "compatcheck/reference.h"
#include "lint/in_force.h"

namespace compatcheck::reference {

// `name`: "relu", "aten::relu", or an unknown operator with its namespace. Throws UsageError for an unknown ATen operator, and
// for an unknown name without a namespace.
std::string scaffold(const std::string& name, const ReferenceOptions& options, const lint::InForce& in_force);

}  // namespace compatcheck::reference

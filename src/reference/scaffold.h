// The output of `explain OP --scaffold`: a mapping file, or a plugin, to start from.
#pragma once

#include <string>

#include "compatcheck/reference.h"
#include "lint/in_force.h"

namespace compatcheck::reference {

// `name`: "relu", "aten::relu", or an operator that nobody knows, with its namespace. Throws UsageError for an ATen operator that
// isn't there, and for what has no namespace.
std::string scaffold(const std::string& name, const ReferenceOptions& options, const lint::InForce& in_force);

}  // namespace compatcheck::reference

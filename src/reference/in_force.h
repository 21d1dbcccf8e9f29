// The tables and schemas that reference pages speak of.
#pragma once

#include "compatcheck/reference.h"
#include "lint/in_force.h"

namespace compatcheck::reference {

// The tables in force, with the users' tables and plugins, and with the operators that their libraries register. Throws
// TableError and UsageError as loading a model with the same options does.
lint::InForce in_force(const ReferenceOptions& options);

}  // namespace compatcheck::reference

// Whether a value of a type can be an argument.
#pragma once

#include "schema/schema.h"

namespace compatcheck::schema {

// `converted`: with TorchScript's implicit conversions, as `match` chooses an overload if none fits without them.
bool takes(const Argument& formal, const ir::Type& actual, bool converted);

}  // namespace compatcheck::schema

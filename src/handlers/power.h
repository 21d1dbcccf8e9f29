// Powers of values of one dtype.
#pragma once

#include "handlers/elementary.h"

namespace compatcheck::handlers {

// Integers wrap; of negative exponents only those of 1 and -1 aren't 0.
Value power(Emission& e, const Value& base, const Value& exponent);

}  // namespace compatcheck::handlers

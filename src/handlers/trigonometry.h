// Angles as values, for several handlers.
#pragma once

#include "handlers/emission.h"

namespace compatcheck::handlers {

// atan2 of two values of one floating dtype.
Value angle_of(Emission& e, const Value& y, const Value& x);

}  // namespace compatcheck::handlers

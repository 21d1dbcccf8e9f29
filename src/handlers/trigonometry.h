// Angles, for whoever needs them as values.
#pragma once

#include "handlers/emission.h"

namespace compatcheck::handlers {

// atan2 of two values of one floating dtype.
Value angle_of(Emission& e, const Value& y, const Value& x);

}  // namespace compatcheck::handlers

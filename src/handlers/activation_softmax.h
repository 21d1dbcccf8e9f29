#pragma once

#include "handlers/emission.h"

namespace compatcheck::handlers {

// Along one axis; `axis` isn't negative.
Value log_softmax(Emission& e, const Value& x, std::int64_t rank, std::int64_t axis);

}  // namespace compatcheck::handlers

// Places among sorted boundaries.
#pragma once

#include "symbolic/shapes.h"

namespace compatcheck::symbolic {

Facts searched(const Call& call);  // for searchsorted and bucketize

}  // namespace compatcheck::symbolic

// What strides count from.
#pragma once

#include "handlers/emission.h"
#include "symbolic/layout.h"

namespace compatcheck::handlers {

// How 'self' lies in memory. Refusal where nobody can tell.
symbolic::Layout layout_of_self(const Emission& e);
// Where the call's strides begin, in elements from the beginning of the storage.
std::int64_t storage_offset(const Emission& e, const symbolic::Layout& self);

}  // namespace compatcheck::handlers

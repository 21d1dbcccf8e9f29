// Which findings an entry of the allow-list speaks of.
#pragma once

#include <string>

#include "compatcheck/policy.h"

namespace compatcheck::policy {

// `*`, `?` and sets, as in a shell; `*` goes over slashes and dots. An empty pattern holds for all.
bool matches(const std::string& pattern, const std::string& text);
// Whether each `[` that begins a set has its `]`. Else it would be a letter, which nobody means.
bool closes_sets(const std::string& pattern);
// Whether findings of this report, or of this engine of it, are meant at all.
bool applies_to(const AllowEntry& entry, const Report& report);
// Whether this finding is meant, whatever its modules.
bool applies_to(const AllowEntry& entry, const Finding& finding);

}  // namespace compatcheck::policy

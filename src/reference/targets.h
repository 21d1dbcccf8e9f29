// Engine profiles as pages.
#pragma once

#include <optional>
#include <string>

#include "compatcheck/reference.h"

namespace compatcheck::reference {

// "targets": all engines that are shipped; an engine's name, perhaps with its version: the contents of its profile. nullopt
// for other names.
std::optional<std::string> explain_target(const std::string& subject, const ReferenceOptions& options);

}  // namespace compatcheck::reference

// Engine profiles as pages.
#pragma once

#include <optional>
#include <string>

#include "compatcheck/reference.h"

namespace compatcheck::reference {

// "targets": all engines that are shipped; the name of one, perhaps with its version: what its profile says. nullopt for other
// names.
std::optional<std::string> explain_target(const std::string& subject, const ReferenceOptions& options);

}  // namespace compatcheck::reference

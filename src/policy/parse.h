// The texts of configurations and baselines, wherever they come from.
#pragma once

#include <string>
#include <string_view>

#include "compatcheck/policy.h"

namespace compatcheck::policy {

// `name` is the file's, for messages and what is relative to it. Throws TableError.
Configuration parse_configuration(std::string_view text, const std::string& name);
// Throws UsageError without a file's name.
Baseline parse_baseline(std::string_view text);

}  // namespace compatcheck::policy

// The texts of configurations and baselines, wherever they come from.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "compatcheck/policy.h"

namespace compatcheck::policy {

// `name` is the file's, for messages; relative paths begin at `folder`. Throws TableError.
Configuration parse_configuration(std::string_view text, const std::string& name, const std::filesystem::path& folder);
// Throws UsageError, with the place in the text but without a file's name.
Baseline parse_baseline(std::string_view text);

}  // namespace compatcheck::policy

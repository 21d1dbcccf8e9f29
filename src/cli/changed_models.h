// The models that have changed according to git.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace compatcheck::cli {

// Those of `models` that differ from `revision`, or that git doesn't track: it can't tell of them. All of them, where one of
// `settings` (files and folders) has changed so: tables and the configuration may change the verdict of each. Throws UsageError
// where git can't tell.
std::vector<std::string> changed_models(const std::vector<std::string>& models, std::span<const std::filesystem::path> settings,
                                        const std::string& revision);

}  // namespace compatcheck::cli

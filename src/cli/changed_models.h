// The models that have changed according to git.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace compatcheck::cli {

// The `models` that differ from `revision` or that git doesn't track. All models if one of `settings` (files and folders)
// differs or is untracked, because tables and the configuration may change every verdict. Throws UsageError
// if git cannot tell.
std::vector<std::string> changed_models(const std::vector<std::string>& models, std::span<const std::filesystem::path> settings,
                                        const std::string& revision);

}  // namespace compatcheck::cli

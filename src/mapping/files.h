// The table files that --mappings means.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

namespace compatcheck::mapping {

// A folder stands for its .yaml and .yml files, in order of their names.
std::vector<std::filesystem::path> table_files(std::span<const std::filesystem::path> paths);

}  // namespace compatcheck::mapping

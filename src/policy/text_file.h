// The text of a file or pipe that a user names, or that lies where a configuration is looked for.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace compatcheck::policy {

// Throws UsageError for what can't be read, saying what it is instead, and for more than `most` bytes: a device has no end.
std::string read_text(const std::filesystem::path& file, std::size_t most);
// "compatcheck.yaml is a folder, not a file"; empty for what can be opened.
std::string why_no_file(const std::filesystem::path& file);

}  // namespace compatcheck::policy

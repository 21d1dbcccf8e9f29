// The files that verify leaves.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace compatcheck::verification {

// `parts`, one after the other. Throws UsageError where it can't be written.
void write_file(const std::filesystem::path& file, std::initializer_list<std::string_view> parts);

}  // namespace compatcheck::verification

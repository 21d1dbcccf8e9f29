// Environment variables that compatcheck doesn't read.
#pragma once

#include <string>
#include <vector>

namespace compatcheck::cli {

// Warnings for variables that begin like ours but don't exist, with the name that may be meant.
std::vector<std::string> misspelt_variables();

}  // namespace compatcheck::cli

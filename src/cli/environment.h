// Environment variables that compatcheck doesn't read.
#pragma once

#include <string>
#include <vector>

namespace compatcheck::cli {

// A warning for each that begins as ours do but is none, with the one that may be meant.
std::vector<std::string> misspelt_variables();

}  // namespace compatcheck::cli

// Names of a model, for a user who has one wrong.
#pragma once

#include <string>
#include <vector>

namespace compatcheck::model_tools {

// "; did you mean a, b?", of those of `names` that are like it or hold it, at most three; or nothing.
std::string near_names(const std::string& name, const std::vector<std::string>& names);

// "a, b, c", of the first twenty.
std::string listed(const std::vector<std::string>& names);

}  // namespace compatcheck::model_tools

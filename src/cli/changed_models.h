// What git says has changed.
#pragma once

#include <string>
#include <vector>

namespace compatcheck::cli {

// Those of `models` that differ from `revision`, or aren't in it. All of them, where one of `settings` has changed: tables and the
// configuration may change the verdict of each. Throws UsageError where git can't tell.
std::vector<std::string> changed_models(const std::vector<std::string>& models, const std::vector<std::string>& settings, const std::string& revision);

}  // namespace compatcheck::cli

// Workflow commands of GitHub Actions: annotations of files.
#pragma once

#include <span>
#include <string>

#include "compatcheck/render.h"

namespace compatcheck::report {

// One line for each error and warning, worst first, and one for each model's result. GitHub shows ten of a kind for a step
// and drops the rest silently: the tenth says how many more there are.
std::string github(std::span<const Report> reports, const RenderOptions& options);

}  // namespace compatcheck::report

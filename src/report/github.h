// Workflow commands of GitHub Actions: annotations of files.
#pragma once

#include <span>
#include <string>

#include "compatcheck/render.h"

namespace compatcheck::report {

// A line each for errors and warnings, worst first, and one for what each model comes to. GitHub shows ten of a kind for a step
// and drops the rest without a word: the tenth says how many more there are.
std::string github(std::span<const Report> reports, const RenderOptions& options);

}  // namespace compatcheck::report

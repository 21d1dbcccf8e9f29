// SARIF 2.1.0, for code scanning: https://docs.oasis-open.org/sarif/sarif/v2.1.0/
#pragma once

#include <span>
#include <string>

#include "compatcheck/render.h"

namespace compatcheck::report {

// One run for each opset of a model and each engine, or one for all if there are more than GitHub accepts. Findings beyond
// GitHub's limits are counted in the run's notifications.
std::string sarif(std::span<const Report> reports, const RenderOptions& options);

}  // namespace compatcheck::report

// SARIF 2.1.0, for code scanning: https://docs.oasis-open.org/sarif/sarif/v2.1.0/
#pragma once

#include <span>
#include <string>

#include "compatcheck/render.h"

namespace compatcheck::report {

// A run for each opset of a model and each engine, or one for all where they are more than GitHub takes. Within GitHub's limits:
// what is beyond them is counted in the run's notifications.
std::string sarif(std::span<const Report> reports, const RenderOptions& options);

}  // namespace compatcheck::report

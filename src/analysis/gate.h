// Whether a report passes, and the exit code that says so.
#pragma once

#include <optional>

#include "compatcheck/report.h"

namespace compatcheck::analysis {

bool violates(const Finding& finding, FailOn fail_on);
Gate judge(const Report& report, FailOn fail_on, std::optional<int> max_missing);

}  // namespace compatcheck::analysis

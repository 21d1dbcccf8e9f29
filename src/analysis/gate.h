// Whether a report passes, and the exit code that says so.
#pragma once

#include <optional>

#include "compatcheck/report.h"

namespace compatcheck::analysis {

Gate judge(const Report& report, FailOn fail_on, std::optional<int> max_missing);

}  // namespace compatcheck::analysis

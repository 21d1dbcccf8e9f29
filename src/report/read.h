// Reads saved reports.
#pragma once

#include "analysis/json_place.h"
#include "compatcheck/report.h"

namespace compatcheck::report {

using analysis::JsonPlace;

Report read_report(const JsonPlace& json);

}  // namespace compatcheck::report

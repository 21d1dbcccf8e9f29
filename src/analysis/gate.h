// Whether a report passes, and its exit code.
#pragma once

#include <span>

#include "compatcheck/report.h"

namespace compatcheck::analysis {

bool violates(const Finding& finding, FailOn fail_on);
// It is why the report doesn't pass.
bool fails(const Finding& finding, const Report& report);
// Answers the questions that the gate puts to the report.
Gate judge(const Report& report, Gate gate);
// As compatcheck::exit_code_of(), of a run.
int exit_code_of(std::span<const Report* const> reports);

}  // namespace compatcheck::analysis

// A report with something in every field, and with names that no model should have.
#pragma once

#include "compatcheck/report.h"

namespace compatcheck {

inline constexpr const char* hostile_name = "a|b<c>&\"'`*_[x](http://y) @z #1 %0A ::warning:: \x1b[31m\n]]>";

Report sample_report();
Finding sample_finding(const std::string& id, Severity severity, int sites);

}  // namespace compatcheck

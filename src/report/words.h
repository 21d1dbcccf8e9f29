// The words by which reports spell enumerators.
#pragma once

#include <string_view>

#include "compatcheck/report.h"

namespace compatcheck::report {

std::string_view word(Verdict verdict);
std::string_view word(OperatorClass operator_class);
std::string_view word(Severity severity);
std::string_view word(FailOn fail_on);
std::string_view word(ExportType type);

}  // namespace compatcheck::report

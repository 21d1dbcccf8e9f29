// Describes the model that convert() wrote.
#pragma once

#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

std::string text(const WrittenModel& written);

}  // namespace compatcheck::report

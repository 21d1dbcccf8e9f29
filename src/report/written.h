// What convert() wrote, in words.
#pragma once

#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

std::string text(const WrittenModel& written);

}  // namespace compatcheck::report

// A report whose strings a terminal may show: models and their files name things as they like.
#pragma once

#include "compatcheck/report.h"

namespace compatcheck::report {

Report printable_report(Report report);

}  // namespace compatcheck::report

// The result of diff() as a page and as JSON.
#pragma once

#include <string>

#include "compatcheck/diff.h"
#include "report/page.h"

namespace compatcheck::report {

Page page(const Difference& difference);
std::string json(const Difference& difference);

}  // namespace compatcheck::report

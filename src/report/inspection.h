// The result of inspect() as a page and as JSON.
#pragma once

#include <string>

#include "compatcheck/inspect.h"
#include "report/page.h"

namespace compatcheck::report {

Page page(const Inspection& inspection, const RenderOptions& options);
std::string json(const Inspection& inspection);

}  // namespace compatcheck::report

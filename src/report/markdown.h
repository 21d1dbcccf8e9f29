// The report as a page of Markdown, for pull requests and job summaries.
#pragma once

#include <span>
#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

// Of several reports first a table of all and what is missing in most; then each model, at the opset that comes closest.
std::string markdown(std::span<const Report> reports);

}  // namespace compatcheck::report

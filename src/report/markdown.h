// The report as a page of Markdown, for pull requests and job summaries.
#pragma once

#include <span>
#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

// For several reports, writes a table of all and the operators missing in most, then each model at its best opset.
std::string markdown(std::span<const Report> reports);

}  // namespace compatcheck::report

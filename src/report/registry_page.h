// The HTML page of very many reports: one line of text each, which the page's script draws as they are looked at.
#pragma once

#include <span>
#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

// A line for each report, its fields between tabs: verdict, path, opset, nodes, lowest opset, missing operators, engines, reason.
std::string page_rows(std::span<const Report> reports);
// reports/html/registry.js reads what this makes of the rows.
std::string registry_page(std::span<const std::string> rows);

}  // namespace compatcheck::report

// The HTML page of very many reports: one line of text each, which the page's script draws as they are looked at.
#pragma once

#include <span>
#include <string>

#include "compatcheck/report.h"

namespace compatcheck::report {

// A line for each report: fields between tabs, whose order reports/html/registry.js has, too.
std::string page_rows(std::span<const Report> reports);
std::string registry_page(std::span<const std::string> rows);

}  // namespace compatcheck::report

// One HTML page that holds the reports and everything that shows them (reports/html/): it loads nothing.
#pragma once

#include <span>
#include <string>

#include "compatcheck/render.h"

namespace compatcheck::report {

// Names and texts of models are data in the page, which its script shows as text.
std::string html(std::span<const Report> reports, const RenderOptions& options);

}  // namespace compatcheck::report

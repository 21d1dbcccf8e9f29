// One HTML page that holds the reports and everything that shows them (reports/html/): it loads nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compatcheck/render.h"
#include "report/json_parts.h"

namespace compatcheck::report {

// The page with this script, which finds the data in it.
std::string filled_page(std::string_view script, const Json& data);

// The hash of a script or style that a page's policy (CSP) allows: "sha256-…".
std::string policy_hash(std::string_view text);

// Names and texts of models are data in the page, which its script shows as text.
std::string html(std::span<const Report> reports, const RenderOptions& options);

}  // namespace compatcheck::report

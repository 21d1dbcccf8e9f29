// The report as a page to be read: in two seconds whether the model goes, in ten what to do.
#pragma once

#include <span>
#include <string>

#include "compatcheck/render.h"

namespace compatcheck::report {

// One report: its page. Opsets of one model: a table, then the findings that block it at the opset that comes closest. Several
// models: one after the other.
std::string text(std::span<const Report> reports, const RenderOptions& options);
// Returns the end of text() for several models. It reads no sites of findings.
std::string totals(std::span<const Report> reports, const RenderOptions& options);

}  // namespace compatcheck::report

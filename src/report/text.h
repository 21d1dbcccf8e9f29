// The report as a page to be read: in two seconds whether the model goes, in ten what to do.
#pragma once

#include <span>
#include <string>

#include "compatcheck/render.h"

namespace compatcheck::report {

// One report: its page. Opsets of one model: a table, then the findings that block it at the opset that comes closest. Several
// models: a table, or with -v one page after the other.
std::string text(std::span<const Report> reports, const RenderOptions& options);
// Several models without -v and -q: a table with a line for each model, at its deciding opset; then the findings of the models
// that fail the gate, as far as has_details() says so for their number so far.
bool shows_table(const RenderOptions& options);
std::string table_head(const RenderOptions& options);
std::string table_line(std::span<const Report> model, const RenderOptions& options);
bool has_details(std::size_t failing);
std::string table_end(std::span<const std::string> details, std::size_t failing);
// Returns the end of text() for several models. It reads no sites of findings.
std::string totals(std::span<const Report> reports, const RenderOptions& options);

}  // namespace compatcheck::report

// Pieces of the text report.
#pragma once

#include <string>

#include "compatcheck/render.h"
#include "report/report_text.h"
#include "report/style.h"

namespace compatcheck::report {

constexpr std::size_t finding_indent = 9;  // indent of the lines below a finding's first line

// All texts in the reports must be printable.
std::string report_page(const Report& report, const ModelNames& names, const RenderOptions& options);
std::string report_title(const Report& report, const ModelNames& names, const Style& style);  // "net.pt · TorchScript (traced)"
std::string export_type(const Report& report);                                                // " · raw"; empty for ONNX
std::string findings(const Report& report, const RenderOptions& options,
                     const Style& style);  // grouped by section; quiet: only those that fail the gate
int hidden_notes(const Report& report);    // number of notes that findings() lists only with verbosity
std::string allowed(const Report& report, const RenderOptions& options, const Style& style);  // suppressed findings

}  // namespace compatcheck::report

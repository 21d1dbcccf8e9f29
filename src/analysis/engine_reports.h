// The counts, findings and help of reports about an engine, for models of PyTorch and for ONNX files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compatcheck/report.h"
#include "engines/look.h"
#include "engines/profile.h"

namespace compatcheck::analysis {

// The counts of a look; null: no model could be made. Lowest opset and forms are left to the caller.
TargetSummary summary_of(const engines::Profile& profile, const engines::Look* look);

// A warning about the engine.
Finding finding_of_target(const engines::Profile& profile, std::string_view rule, std::string message);

// "--opset 13; or replace the ONNX function …; otherwise the CPU runs it": ways of the caller stand before and after those of the
// node.
std::string help_for(const engines::Profile& profile, const engines::Looked& node, std::vector<std::string> before,
                     const std::vector<std::string>& after = {});

}  // namespace compatcheck::analysis

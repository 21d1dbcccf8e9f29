// Checking an ONNX file from any exporter for engines.
//
//   auto report = compatcheck::check_onnx("model.onnx", {.targets = {"tensorrt"}});
#pragma once

#include <filesystem>

#include "compatcheck/check.h"
#include "compatcheck/report.h"

namespace compatcheck {

// The file is checked unchanged: nothing is converted. The options `targets`, `fail_on`, `exit_zero`, `hash`, `timeout_seconds`
// and `run` apply. The report's model has the format "onnx", the opset is the file's, the operators are ONNX's,
// and a finding's sites name nodes. Throws UsageError without a target, ModelError for a file that can't be read or isn't
// valid ONNX.
Report check_onnx(const std::filesystem::path& file, const CheckOptions& options);

}  // namespace compatcheck

// Checking an ONNX file from any exporter for engines.
//
//   auto report = compatcheck::check_onnx("model.onnx", {.targets = {"tensorrt"}});
#pragma once

#include <filesystem>

#include "compatcheck/check.h"
#include "compatcheck/report.h"

namespace compatcheck {

// The file is checked unchanged: nothing is converted. The options `targets`, `fail_on`, `exit_zero`, `hash`, `timeout_seconds`
// and `run` apply. The report's model has the format "onnx", its opset is the file's, its operators are ONNX's,
// and a finding's sites name nodes. Throws UsageError where no target is given, ModelError for a file that can't be read or isn't
// valid ONNX.
Report check_onnx(const std::filesystem::path& file, const CheckOptions& options);

}  // namespace compatcheck

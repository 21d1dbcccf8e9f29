// ONNX files from any exporter: checking them for opsets and engines, and writing them at another opset.
//
//   auto report = compatcheck::check_onnx("model.onnx", {.targets = {"tensorrt"}});
//   compatcheck::convert_onnx("model.onnx", "old.onnx", 12);
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "compatcheck/check.h"
#include "compatcheck/convert.h"
#include "compatcheck/report.h"

namespace compatcheck {

// The file is checked as it is: nothing is converted. The options `targets`, `fail_on`, `max_missing`, `exit_zero`, `hash`,
// `timeout_seconds` and `run` apply. The report's model has the format "onnx", the operators are ONNX's, and a finding's sites
// name nodes. Throws UsageError for an unknown target, ModelError for a file that can't be read or isn't valid ONNX.
Report check_onnx(const std::filesystem::path& file, const CheckOptions& options);
// At these opsets instead, which may be the file's own: the model that convert_onnx would write. Without any, the file as it is.
std::vector<Report> check_onnx(const std::filesystem::path& file, std::span<const int> opsets, const CheckOptions& options);

// Writes the file at an opset; without one, at its own. Nodes that mean the same there stay as they are, unless one of `targets`
// takes another form only. The report is that of check_onnx() at that opset. The options `external_data`, `fail_on`, `targets`,
// `accept`, `timeout_seconds` and `run` apply; those for inputs, names and forms of a PyTorch model are a UsageError. OUT is
// written if every node converts and the gate passes: completely, or it stays unchanged.
Report convert_onnx(const std::filesystem::path& file, const std::filesystem::path& out, std::optional<int> opset = {},
                    const ConvertOptions& options = {});

}  // namespace compatcheck

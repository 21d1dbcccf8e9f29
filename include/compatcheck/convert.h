// Writing the ONNX model.
//
//   auto report = compatcheck::convert(model, "model.onnx", {.opset = 17});
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compatcheck/check.h"
#include "compatcheck/load.h"
#include "compatcheck/report.h"

namespace compatcheck {

enum class ExternalData : std::uint8_t { automatic, always, never };  // automatic: for models above 2 GB

struct ConvertOptions {
  int opset = default_opset;
  // Up to `prefer` with the meaning that CheckOptions describes.
  std::vector<std::string> inputs{};
  std::filesystem::path inputs_from{};
  std::vector<std::string> dims{};
  std::vector<std::string> custom_opsets{};
  bool inline_functions = false;
  ExportType export_type = ExportType::onnx;
  StateMode state = StateMode::refuse;
  ComplexIo complex_io = ComplexIo::refuse;
  QuantizedIo quantized_io = QuantizedIo::floats;
  Preference prefer = Preference::exact;
  // Engines that the file is for, as in CheckOptions: each call is written in the newest form that they take.
  std::vector<std::string> targets{};
  std::vector<std::string> input_names{};                // in the ONNX model, in order; empty: the original model's names
  std::vector<std::string> output_names{};               // in the ONNX model, in order; empty: the original model's names
  ExternalData external_data = ExternalData::automatic;  // weights in FILE.data beside FILE
  bool keep_initializers_as_inputs = false;              // weights are inputs too, whose values a caller may replace
  bool fold = true;                                      // compute at conversion what depends only on weights
  bool optimize = true;                                  // clean up the result, folding included
  double timeout_seconds = 120;                          // limit for the check, and again for writing; weights are not counted
  FailOn fail_on = FailOn::unconvertible;                // the model isn't written if the gate fails
  // Called with the report of a model that converts, before anything is written; it may change the gate. False: nothing is
  // written.
  std::function<bool(Report& report)> accept{};
  RunOptions run{};
};

// The report is that of check() with the same options. FILE is written if the verdict is yes and the gate passes: completely, or
// it stays unchanged. The report's `written` describes it. Throws UsageError for a wrong option or a file that can't be written,
// ModelError for a weight that can't be read.
Report convert(const Model& model, const std::filesystem::path& file, const ConvertOptions& options = {});

// Without a file: `write` gets the bytes of the whole ONNX model in order, in pieces. The weights are in the model:
// ExternalData::always and models above 2 GB are a UsageError.
using WriteBytes = std::function<void(std::span<const std::byte> bytes)>;
Report convert(const Model& model, const WriteBytes& write, const ConvertOptions& options = {});

}  // namespace compatcheck

// Writing the ONNX model.
//
//   auto report = compatcheck::convert(model, "model.onnx", {.opset = 17});
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "compatcheck/check.h"
#include "compatcheck/load.h"
#include "compatcheck/report.h"

namespace compatcheck {

enum class ExternalData : std::uint8_t { automatic, always, never };  // automatic: for models above 2 GB

struct ConvertOptions {
  int opset = default_opset;
  std::vector<std::string> inputs;  // these three as in CheckOptions
  std::filesystem::path inputs_from;
  std::vector<std::string> dims;
  std::vector<std::string> custom_opsets;                // as in CheckOptions
  bool inline_functions = false;                         // local functions of mapping rows become nodes
  ExportType export_type = ExportType::onnx;             // likewise
  std::vector<std::string> input_names, output_names;    // of the ONNX model, in order; empty: the model's own
  ExternalData external_data = ExternalData::automatic;  // weights in FILE.data beside FILE
  bool keep_initializers_as_inputs = false;              // weights are inputs too, whose values a caller may replace
  bool fold = true;                                      // compute beforehand what follows from weights alone
  bool optimize = true;                                  // the clean-up of the result, folding too
  double timeout_seconds = 120;                          // for the check, and again for what is written but for the weights
  RunOptions run;
};

// The report is that of check() with the same options. FILE is written if its verdict is yes, and is whole or as it was. Throws
// UsageError for an option or a file that can't be written, ModelError where a weight can't be read.
Report convert(const Model& model, const std::filesystem::path& file, const ConvertOptions& options = {});

}  // namespace compatcheck

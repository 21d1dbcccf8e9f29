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
  std::vector<std::string> inputs{};  // these three as in CheckOptions
  std::filesystem::path inputs_from{};
  std::vector<std::string> dims{};
  std::vector<std::string> custom_opsets{};              // as in CheckOptions
  bool inline_functions = false;                         // local functions of mapping rows become nodes
  ExportType export_type = ExportType::onnx;             // likewise
  StateMode state = StateMode::refuse;                   // likewise
  ComplexIo complex_io = ComplexIo::refuse;              // likewise
  QuantizedIo quantized_io = QuantizedIo::floats;        // likewise
  Preference prefer = Preference::exact;                 // likewise
  std::vector<std::string> input_names{};                // of the ONNX model, in order; empty: the model's own
  std::vector<std::string> output_names{};               // likewise
  ExternalData external_data = ExternalData::automatic;  // weights in FILE.data beside FILE
  bool keep_initializers_as_inputs = false;              // weights are inputs too, whose values a caller may replace
  bool fold = true;                                      // compute beforehand what follows from weights alone
  bool optimize = true;                                  // the clean-up of the result, folding too
  double timeout_seconds = 120;                          // for the check, and again for what is written but for the weights
  FailOn fail_on = FailOn::unconvertible;  // as in CheckOptions: a gate that fails keeps the model from being written
  // Called with the report of a model that converts, before anything is written; it may change the gate. False: nothing is
  // written.
  std::function<bool(Report& report)> accept{};
  RunOptions run{};
};

// The report is that of check() with the same options. FILE is written if its verdict is yes and its gate passed, and is whole or
// as it was; the report says in `written` what it holds. Throws UsageError for an option or a file that can't be written,
// ModelError where a weight can't be read.
Report convert(const Model& model, const std::filesystem::path& file, const ConvertOptions& options = {});

// The same without a file: `write` gets the bytes of the ONNX model, in order and in pieces, once all of them are made. All
// weights stand in it: ExternalData::always and models above 2 GB are a UsageError.
using WriteBytes = std::function<void(std::span<const std::byte> bytes)>;
Report convert(const Model& model, const WriteBytes& write, const ConvertOptions& options = {});

}  // namespace compatcheck

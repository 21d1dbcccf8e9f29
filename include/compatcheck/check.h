// Classifying every operator of a model.
//
//   auto report = compatcheck::check(model, {.opset = 11});
#pragma once

#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compatcheck/complex_io.h"
#include "compatcheck/export_type.h"
#include "compatcheck/load.h"
#include "compatcheck/preference.h"
#include "compatcheck/quantized_io.h"
#include "compatcheck/report.h"
#include "compatcheck/state_mode.h"

namespace compatcheck {

inline constexpr int lowest_opset = 7;
inline constexpr int highest_opset = 26;
inline constexpr int default_opset = 17;

struct CheckOptions {
  int opset = default_opset;
  // "[NAME=][DTYPE:]DIM,DIM,…", in order or by name, as --input of the command line.
  std::vector<std::string> inputs{};
  // Example inputs, whose dtypes and sizes hold where `inputs` says nothing: a .pt file of torch.save (tensors, numbers, None,
  // and tuples, lists and dicts of them), an .npz file, or a folder of input_0.pb, input_1.pb … (TensorProto).
  std::filesystem::path inputs_from{};
  std::vector<std::string> dims{};  // "NAME=N": the size of a named dimension, for what runs the model
  std::vector<std::string>
      custom_opsets{};            // "DOMAIN=N": versions of custom ONNX domains; else those of the mapping files, else 1
  bool inline_functions = false;  // as ConvertOptions has it
  ExportType export_type = ExportType::onnx;
  StateMode state = StateMode::refuse;             // attributes that a call writes and a later call reads
  ComplexIo complex_io = ComplexIo::refuse;        // complex tensors among the model's inputs and outputs
  QuantizedIo quantized_io = QuantizedIo::floats;  // quantized ones
  Preference prefer = Preference::exact;
  FailOn fail_on = FailOn::unconvertible;
  std::optional<int> max_missing{};  // more missing operators than this fail the gate
  bool exit_zero = false;
  bool hash = false;   // fill ModelInfo::sha256
  bool graph = false;  // fill Report::graph
  // Engines to hold the ONNX model against: "tensorrt", "ort-cpu@1.31", or a profile of one's own (docs/engines.md): "FILE.yaml".
  std::vector<std::string> targets{};
  double timeout_seconds = 120;  // for one model, all opsets
  RunOptions run{};
};

// Throws UsageError for an opset out of range or an input that doesn't fit the model, ModelError when the time is up.
Report check(const Model& model, const CheckOptions& options = {});
// The same for several opsets; loading, normalising and facts are done once. One report an opset, in their order.
std::vector<Report> check(const Model& model, std::span<const int> opsets, const CheckOptions& options = {});

// The files and folders beside the model that options name and a report hangs on: tables, plugins, operator libraries, example
// inputs, profiles.
std::vector<std::filesystem::path> settings_files(const LoadOptions& load, const CheckOptions& options);

// Names everything but the model and the opset that a report hangs on: this version and its tables, the options, the bytes of
// settings_files(), and of `others` (a configuration, a baseline). With ModelInfo::identity it tells whether a report is still
// true. Throws ModelError for a file that can't be read.
std::string settings_digest(const LoadOptions& load, const CheckOptions& options,
                            std::span<const std::filesystem::path> others = {});

// exit_usage for what UsageError and TableError are, else exit_unreadable.
int exit_code_of(const std::exception& error);
// Of a run: the highest of its models; a model at several opsets has the lowest where one of them is enough, else the highest.
int exit_code_of(std::span<const Report> reports);
// In place of a report, for render(): a model that could not be read or checked.
Report failure_report(const std::string& path, const std::exception& error);

}  // namespace compatcheck

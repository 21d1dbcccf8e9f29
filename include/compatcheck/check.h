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
  // "[NAME=][DTYPE:]DIM,DIM,…", in order or with names, as --input of the command line.
  std::vector<std::string> inputs{};
  // Example inputs, whose dtypes and sizes apply where `inputs` states none: a .pt file of torch.save (tensors, numbers, None,
  // and tuples, lists and dicts of them), an .npz file, or a folder of input_0.pb, input_1.pb … (TensorProto).
  std::filesystem::path inputs_from{};
  std::vector<std::string> dims{};  // "NAME=N": the size of a named dimension, used to run the model; "NAME=1..64": its range
  std::vector<std::string>
      custom_opsets{};            // "DOMAIN=N": versions of custom ONNX domains; by default those of the mapping files, or 1
  bool inline_functions = false;  // nodes instead of calls of the local functions of mapping rows
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
  // Engines to check the ONNX model for: "tensorrt", "ort-cpu@1.31", or your own profile (docs/engines.md): "FILE.yaml". Each
  // call has the newest form that they take.
  std::vector<std::string> targets{};
  double timeout_seconds = 120;  // limit for one model at all opsets
  RunOptions run{};
};

// Throws UsageError for an opset out of range or an input that doesn't fit the model, ModelError when the time is up.
Report check(const Model& model, const CheckOptions& options = {});
// For several opsets. The model is loaded, normalized and examined once. One report for each opset, in their order.
std::vector<Report> check(const Model& model, std::span<const int> opsets, const CheckOptions& options = {});

// The files and folders that options name and a report depends on, except the model: tables, plugins, operator libraries, example
// inputs, profiles.
std::vector<std::filesystem::path> settings_files(const LoadOptions& load, const CheckOptions& options);

// A digest of everything that a report depends on, except the model and the opset: this version and its tables, the options, the
// bytes of settings_files() and of `others` (a configuration, a baseline). If it and ModelInfo::identity are unchanged, a report
// is still true. Throws ModelError for a file that can't be read.
std::string settings_digest(const LoadOptions& load, const CheckOptions& options,
                            std::span<const std::filesystem::path> others = {});

// exit_usage for UsageError and TableError, exit_unreadable for other errors.
int exit_code_of(const std::exception& error);
// The exit code of a run: the highest of its models. A model at several opsets has the lowest of its reports' codes if one opset
// is enough (Gate::one_opset_is_enough), otherwise the highest.
int exit_code_of(std::span<const Report> reports);
// The report of a model that can't be read or checked, for render().
Report failure_report(const std::string& path, const std::exception& error);

}  // namespace compatcheck

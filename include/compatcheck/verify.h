// Proving an ONNX model: TorchScript and ONNX Runtime run on the same inputs.
//
//   auto verification = compatcheck::verify(model, {.convert = {.opset = 17}});
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compatcheck/convert.h"
#include "compatcheck/load.h"
#include "compatcheck/report.h"

namespace compatcheck {

struct VerifyOptions {
  ConvertOptions convert;                  // how the model was, or is to be, converted: opset, inputs, dims
  std::filesystem::path ort_library;       // libonnxruntime.so or its folder; empty: searched for
  std::optional<double> rtol, atol;        // instead of those of the output's dtype
  std::optional<double> least_cosine;      // --require cosine>=X
  std::uint64_t seed = 0;                  // of the inputs
  int runs = 3;                            // with inputs of their own; named dimensions take turns in two sizes
};

// Over all runs the worst. Metrics are over elements that are finite on both sides.
struct OutputVerification {
  std::string name;                        // the ONNX model's
  std::string dtype;                       // TorchScript's
  std::vector<std::int64_t> shape;         // of the first run
  double max_abs = 0, max_rel = 0, mean_abs = 0, p99_abs = 0;
  double cosine = 1;
  std::optional<double> snr_db;            // absent where nothing differs
  std::uint64_t elements = 0, mismatched = 0, nonfinite = 0;   // of all runs
  double noise_abs = 0;                    // how far TorchScript differs from itself
  bool passed = true;
  std::string difference;                  // of the first run that fails: "3 of 40 values, 0.5 for 0.25 at [1, 2]"
};

// The operator whose result is the first to differ while its inputs don't.
struct FirstBad {
  std::string value, onnx_node, op, module, file;
  int line = 0;
  std::string repro;                       // folder that was written, if any
};

struct RunInputs {
  std::map<std::string, std::int64_t> sizes;   // of named dimensions
  std::vector<TensorInfo> inputs;
};

struct Verification {
  static constexpr const char* schema_version = "1.0";
  std::string model, onnx;                 // files; `onnx` empty where the model was converted for this alone
  std::string runtime;                     // ONNX Runtime's version
  int opset = 17;
  std::uint64_t seed = 0;
  std::vector<RunInputs> runs;
  bool passed = false;
  std::vector<OutputVerification> outputs;
  std::vector<Finding> findings;           // CC2xx
  std::optional<FirstBad> first_bad;
  std::optional<Report> report;            // where the model doesn't convert: why
  int exit_code = 0;
};

// Runs the model: its own code, with the operator libraries that it was loaded with. Throws UsageError (no ONNX Runtime, inputs that don't
// fit), ModelError (a file that can't be read; a model that TorchScript itself doesn't run).
Verification verify(const Model& model, const VerifyOptions& options = {});
// An ONNX file, by whomever it was written.
Verification verify(const Model& model, const std::filesystem::path& onnx, const VerifyOptions& options = {});

}  // namespace compatcheck

// Proving an ONNX model: TorchScript and ONNX Runtime run on the same inputs.
//
//   auto verification = compatcheck::verify(model, {.convert = {.opset = 17}});
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compatcheck/convert.h"
#include "compatcheck/load.h"
#include "compatcheck/report.h"

namespace compatcheck {

// The outcomes that make the exit code 1.
enum class VerifyFailOn : std::uint8_t {
  error,     // any error
  mismatch,  // errors, except those about sizes that PyTorch itself refuses
  warning,   // errors and warnings
  never,
  missing,  // same as mismatch, for the option values of check and convert
  conditional,
  composite,  // same as error
};

struct VerifyOptions {
  ConvertOptions convert{};                             // how the model was or will be converted: opset, inputs, dims
  std::filesystem::path ort_library{};                  // libonnxruntime.so or its folder; empty: searched for
  std::vector<std::filesystem::path> ort_custom_ops{};  // libraries of custom operators, for ONNX Runtime 1.14 and above
  VerifyFailOn fail_on = VerifyFailOn::error;
  std::optional<double> rtol{};  // overrides the output dtype's tolerance
  std::optional<double> atol{};
  std::optional<double> least_cosine{};  // --require cosine>=X
  std::uint64_t seed = 0;                // seed of the inputs
  // Minimum number of runs, at least 1, each with inputs of its own. Named dimensions that `convert.dims` doesn't fix start at
  // a size of the trace, or one at which their windows fit; later runs change all of them together, and each by itself.
  // Examples (inputs_from) are run unchanged, and for other sizes with elements repeated or cut off.
  int runs = 3;
  bool bisect = false;               // find the operator that causes a mismatch
  std::filesystem::path repro{};     // --repro: a folder for the smallest failing case; implies `bisect`
  std::filesystem::path dump{};      // --dump: a folder for the ONNX model's values in the first run, and their statistics
  std::uint64_t memory = 256 << 20;  // bytes of intermediate values that are held at a time, on each side
};

// Over all runs the worst. Metrics are over elements that are finite on both sides; max_rel and snr_db (decibels) relate
// differences to TorchScript's values.
struct OutputVerification {
  std::string name;                 // the ONNX model's
  std::string dtype;                // TorchScript's; "None" if the output is None in every run
  std::vector<std::int64_t> shape;  // shape in the first run with a value
  double max_abs = 0, max_rel = 0, mean_abs = 0, p99_abs = 0;
  double cosine = 1;
  std::optional<double> snr_db;                               // absent if nothing differs
  std::uint64_t elements = 0, mismatched = 0, nonfinite = 0;  // over all runs
  std::uint64_t ties = 0;                                     // indices that differ but name equally large elements
  double noise_abs = 0;  // how far TorchScript differs from itself: in a second call, and if the comparison failed, on inputs
                         // with other last bits
  std::uint64_t within_noise = 0;  // elements out of tolerance whose difference is within the model's own rounding noise
  bool passed = true;
  std::string difference;  // in the first run that fails: "3 of 40 values, 0.5 for 0.25 at [1, 2]"
};

// The operator that leaves tolerance although its inputs are TorchScript's own.
struct FirstBad {
  std::string value;                    // the ONNX model's
  std::vector<std::string> onnx_nodes;  // nodes between the operator's inputs and `value`; empty: no node makes it
  std::string op, overload;             // TorchScript's, "aten::relu"
  Site site;                            // place in the user's code
  std::uint64_t execution = 0;          // index of the execution of the If or Loop body that contains it
  std::string difference;               // "3 of 40 values, 0.5 for 0.25 at [1, 2]", or why the runtime doesn't run it
  std::string repro;                    // folder, if the option was given
};

// The work of bisecting.
struct Bisection {
  std::uint64_t compared = 0;  // number of values
  std::uint64_t runs = 0;      // runs of TorchScript
  std::uint64_t bytes = 0;     // size of all intermediate values of one run
  std::string note;            // further remarks
};

// A dimension with a name, and how its size was changed.
struct NamedDimension {
  enum class Variation : std::uint8_t { alone, together, fixed, none };
  std::string name;
  Variation variation = Variation::none;  // together: only with other dimensions; fixed: by the options
  std::vector<std::int64_t> sizes;        // sizes at which both sides ran, in order
  std::string reason;                     // why it can't vary
};

struct RunInputs {
  std::map<std::string, std::int64_t> sizes;  // sizes of named dimensions
  std::vector<TensorInfo> inputs;
};

struct Verification {
  static constexpr const char* schema_version = "1.0";
  std::string model, onnx;   // files; `onnx` is empty if the model was converted only to verify it
  std::string runtime;       // ONNX Runtime's version
  std::optional<int> opset;  // opset of the conversion; absent for a file from another exporter
  std::uint64_t seed = 0;
  std::vector<AssumedInput> assumed;  // inputs that were inferred from the operators that read them
  std::vector<RunInputs> runs;
  std::vector<NamedDimension> dimensions;
  bool passed = false;  // no finding is an error
  VerifyFailOn fail_on = VerifyFailOn::error;
  int violations = 0;  // findings that `fail_on` counts
  std::vector<OutputVerification> outputs;
  std::vector<Finding> findings;      // CC2xx
  std::string note;                   // remark on how the model was run; empty: none
  std::optional<FirstBad> first_bad;  // found by bisecting
  std::uint64_t dumped = 0;           // values written to the folder in VerifyOptions::dump
  std::optional<Bisection> bisection;
  std::optional<Report> report;  // set if the model doesn't convert: the reason
  // Why the model could not be verified (failed_verification): then only `model` and `exit_code` say something.
  std::optional<std::string> error;
  int exit_code = 0;
};

// Runs the model: its own code, with the operator libraries that it was loaded with. The time limit of `convert` holds for the
// check, the conversion and between runs; one run of TorchScript ends with the loader's limit. Throws UsageError (no ONNX
// Runtime, inputs that don't fit), ModelError (a file that can't be read; a model that PyTorch itself doesn't run).
Verification verify(const Model& model, const VerifyOptions& options = {});
// Verifies an ONNX file from any exporter.
Verification verify(const Model& model, const std::filesystem::path& onnx, const VerifyOptions& options = {});
// Compares two ONNX files in ONNX Runtime; `reference` stands in the place of the model. Of `convert`, only `inputs`,
// `inputs_from`, `dims`, the time limit and `run` count.
Verification verify_onnx(const std::filesystem::path& reference, const std::filesystem::path& onnx,
                         const VerifyOptions& options = {});

// The report of a model for which verify() threw an error, in a run over several models.
Verification failed_verification(const std::string& model, const std::exception& error);

}  // namespace compatcheck

// From a mismatch to the operator that makes it, in words for the report.
#pragma once

#include <filesystem>

#include "compatcheck/verify.h"
#include "verification/bisect.h"
#include "verification/repro.h"

namespace compatcheck::verification {

struct Mismatch {
  const Model::State& model;
  const VerifyOptions& options;
  const std::filesystem::path& onnx;  // the file that is wrong
  const analysis::Prepared& prepared;
  const ir::Constants& arguments;  // arguments of the prepared graph
  const NamedValues& inputs;       // values that the ONNX model reads
  const NamedValues& outputs;      // values that the ONNX model should return
  bool nones_differ = false;       // another output is None than should be
  const Runtime& runtime;
  frontend::Frontend& frontend;
  std::function<Tolerance(ir::DType)> tolerance;
  ir::Watch watch;
};

// Sets `first_bad` and `bisection`, and writes the repro folder that the options name. If bisecting fails, `bisection`
// contains the reason.
void explain(const Mismatch& mismatch, Verification& made);

}  // namespace compatcheck::verification

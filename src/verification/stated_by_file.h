// Options of `verify` completed by what the model's file and the ONNX file state themselves.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/prepare.h"
#include "compatcheck/verify.h"

namespace compatcheck::verification {

// Adds the inputs and sizes that an exported program states.
VerifyOptions with_stated_inputs(const Model::State& model, VerifyOptions options);

// Whether the user states inputs, by options or by examples.
bool states_inputs(const VerifyOptions& options);

struct StatedByFile {
  VerifyOptions options;
  std::vector<std::string> members;  // of lists and dictionaries, in the order in which the ONNX file takes them
};

// Adds the inputs and the state of an ONNX file of the model, where the user states none. Throws UsageError for a dictionary
// whose keys nothing states.
StatedByFile stated_by_file(const Model::State& model, const std::filesystem::path& onnx, VerifyOptions options);

}  // namespace compatcheck::verification

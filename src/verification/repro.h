// A failing case as a folder that ONNX's backend tests run.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "ir/constant.h"

namespace compatcheck::verification {

using NamedValues = std::vector<std::pair<std::string, ir::Constant>>;

// model.onnx, test_data_set_0/input_0.pb … and output_0.pb …: TensorProtos and SequenceProtos. The folder is made; what such a
// folder held before is replaced. Throws UsageError where it can't be written.
void write_repro(const std::filesystem::path& folder, const std::string& model, const NamedValues& inputs,
                 const NamedValues& outputs);

}  // namespace compatcheck::verification

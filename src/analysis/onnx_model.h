// The ONNX model of a prepared graph.
#pragma once

#include <vector>

#include "analysis/prepare.h"
#include "compatcheck/convert.h"
#include "conversion/lower.h"
#include "onnx/model.h"
#include "onnx/proto.h"
#include "symbolic/fact.h"

namespace compatcheck::analysis {

// Keys in metadata_props.
// Inputs and outputs that stand for quantized tensors, one a line: "x=qu8(0.5,128)"; and whether they are "int" or "float".
inline constexpr const char* quantized_metadata = "compatcheck.quantized";
inline constexpr const char* quantized_io_metadata = "compatcheck.quantized_io";
inline constexpr const char* complex_metadata = "compatcheck.complex";  // inputs that stand for complex tensors, one a line
// Pairs inputs and outputs of state.
inline constexpr const char* state_metadata = "compatcheck.state";
// Inputs that are stated as values, which the file's own inputs lack: GivenInputs::values, one a line.
inline constexpr const char* values_metadata = "compatcheck.values";
// Ranges of named sizes outside of which the file isn't made to run, one a line: "batch=1..64".
inline constexpr const char* ranges_metadata = "compatcheck.ranges";

CheckOptions check_options(const ConvertOptions& options);
// The options of convert about nodes that a check doesn't have.
struct CleanUp {
  bool keep_initializers_as_inputs = false, fold = true, optimize = true;
};
CleanUp clean_up_of(const ConvertOptions& options);
// The options with which `convert` writes the model that a check looks at.
ConvertOptions convert_options(const CheckOptions& options, int opset, const CleanUp& clean_up = {});

// Lowered, cleaned up and named; its weights are still places in the model file. Throws as conversion::lower.
onnx::Model onnx_model(const Model::State& model, const Prepared& prepared, const ConvertOptions& options, const ir::Watch& watch,
                       std::vector<conversion::Stand>* stands = nullptr);

// The known shapes of the ONNX values that stand for values of the graph.
onnx::KnownShapes known_shapes(const onnx::Model& model, const std::vector<conversion::Stand>& stands,
                               const symbolic::FactTable& facts);

}  // namespace compatcheck::analysis

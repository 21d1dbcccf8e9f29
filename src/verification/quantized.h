// Quantized tensors beside what an ONNX model has for them.
#pragma once

#include <string>
#include <vector>

#include "compatcheck/quantized_io.h"
#include "ir/constant.h"
#include "ir/graph.h"
#include "symbolic/call.h"
#include "verification/onnx_graph.h"

namespace compatcheck::verification {

// The floats that each quantized tensor stands for, or its integers. Anything else as it is.
ir::Constant as_given(ir::Constant value, QuantizedIo form);

// Outputs that are integers of quantized tensors, as the floats that these stand for. `leaves`: the values of the graph that
// `outputs` are; nothing changes where there are others.
void dequantize(ir::Constants& outputs, const std::vector<const ir::Value*>& leaves, const symbolic::FactTable& facts);

// The largest step of a quantized tensor, or of the one of which the value has the floats. 0: of no such tensor.
double step_of(const ir::Value* value, const symbolic::FactTable& facts);

// Inputs that the file's metadata lists (analysis::quantized_metadata) as the quantized tensors that they stand for.
void requantize(std::vector<OnnxGraph::Given>& inputs, const std::string& metadata);

}  // namespace compatcheck::verification

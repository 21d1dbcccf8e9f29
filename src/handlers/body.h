// Rows whose nodes are written as ONNX functions (`function`, `inline`).
#pragma once

#include "handlers/emission.h"
#include "onnx/function_text.h"

namespace compatcheck::handlers {

// One node that calls the function, which the model then carries; or its nodes, where the model is to have no functions.
Values call_body(Emission& emission, const mapping::Body& body, const Values& inputs, const Arguments& attributes,
                 std::size_t outputs);

}  // namespace compatcheck::handlers

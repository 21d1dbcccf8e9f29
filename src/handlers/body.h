// Rows whose nodes are written as ONNX functions (`function`, `inline`).
#pragma once

#include "handlers/emission.h"
#include "onnx/function_text.h"

namespace compatcheck::handlers {

// One node that calls the function, which the model then carries; or its nodes, where the model is to have no functions.
Values call_body(Emission& emission, const mapping::Body& body, const Values& inputs, const Arguments& attributes,
                 std::size_t outputs);

// Its nodes. `otherwise`: the dtype of a node's results where neither its inputs nor ONNX tell it. Throws Refusal where they
// don't fit together.
Values body_nodes(onnx::Builder& build, const mapping::Body& body, const Values& inputs, const Arguments& attributes,
                  DType otherwise);

}  // namespace compatcheck::handlers

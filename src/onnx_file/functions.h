// A model's local functions.
#pragma once

#include <onnx/onnx_pb.h>

namespace compatcheck::onnx_file {

// Drops local functions that nothing calls any more, directly or by another one.
void keep_used_functions(::onnx::ModelProto& model);

}  // namespace compatcheck::onnx_file

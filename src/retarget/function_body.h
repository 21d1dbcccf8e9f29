// The definition of a call: ONNX's own of composite operators, or a local function of the model.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>

#include "retarget/scope.h"

namespace compatcheck::retarget {

// The body as a model of the call alone: its inputs are those of the call that aren't absent, with their types, and its outputs
// the call's. Small constants among them are initializers.
struct Body {
  ::onnx::ModelProto model;
  std::vector<std::string> inputs;  // values that the inputs stand for
  int opset = 0;
};

// The one for the highest opset up to `to` if there is one, otherwise for the lowest; nullopt if ONNX defines the operator of the
// opset `from` otherwise.
std::optional<Body> definition_of(const ::onnx::NodeProto& node, const Scope& scope, int from, int to);
// `otherwise`: the opset where the function doesn't say one.
Body body_of(const ::onnx::NodeProto& node, const ::onnx::FunctionProto& function, const Scope& scope, int otherwise);

}  // namespace compatcheck::retarget

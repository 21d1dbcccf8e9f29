// A node in the form that its operator has at another opset.
#pragma once

#include <onnx/onnx_pb.h>

#include "retarget/piece.h"
#include "retarget/scope.h"
#include "retarget/setting.h"

namespace compatcheck::retarget {

// The node itself where it means the same, with attributes and inputs as the opset's version has them, perhaps among casts and a
// few nodes more. Throws onnx::Refusal where the opset has no such operator, or none with this meaning.
Piece in_version(const ::onnx::NodeProto& node, const Scope& scope, const Setting& setting, Names& names);

}  // namespace compatcheck::retarget

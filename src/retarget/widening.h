// Casts around a node whose operator doesn't take the dtype at an opset.
#pragma once

#include <onnx/onnx_pb.h>

#include "retarget/piece.h"
#include "retarget/scope.h"
#include "retarget/setting.h"

namespace compatcheck::retarget {

// `before`: nodes and constants that the node reads. Throws onnx::Refusal if no wider dtype does it.
Piece widened(const ::onnx::NodeProto& node, Piece before, const Scope& scope, const Setting& setting, Names& names);

}  // namespace compatcheck::retarget

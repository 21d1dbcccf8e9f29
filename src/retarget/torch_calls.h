// The PyTorch call with the meaning of an ONNX operator: its handler writes nodes for opsets that don't have the operator.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>

#include "retarget/piece.h"
#include "retarget/scope.h"
#include "retarget/setting.h"

namespace compatcheck::retarget {

// Nullopt if no call is known for the operator. Throws onnx::Refusal where the call doesn't convert.
std::optional<Piece> by_torch_call(const ::onnx::NodeProto& node, const Scope& scope, const Setting& setting, Names& names);

}  // namespace compatcheck::retarget

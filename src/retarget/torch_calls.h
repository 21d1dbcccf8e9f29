// The PyTorch call with the meaning of an ONNX operator: its handler writes nodes for opsets that don't have the operator.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <vector>

#include "retarget/piece.h"
#include "retarget/scope.h"
#include "retarget/setting.h"

namespace compatcheck::retarget {

// Nullopt if no call is known for the operator. Throws onnx::Refusal where the call doesn't convert. `older`, where it is given,
// gets the opsets of the call's older forms, the newest first, also where it throws.
std::optional<Piece> by_torch_call(const ::onnx::NodeProto& node, const Scope& scope, const Setting& setting, Names& names,
                                   std::vector<int>* older = nullptr);

}  // namespace compatcheck::retarget

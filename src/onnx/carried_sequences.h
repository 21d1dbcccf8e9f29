// Values whose sizes onnx's inference gets wrong.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_set>

namespace compatcheck::onnx {

// What a Loop carries as a sequence, and what follows from it, in all bodies. onnx's inference gives every member of such a
// sequence the sizes of those that it has before the first trip; ONNX Runtime relies on what the file says.
std::unordered_set<std::string> of_carried_sequences(const ::onnx::GraphProto& graph);

}  // namespace compatcheck::onnx

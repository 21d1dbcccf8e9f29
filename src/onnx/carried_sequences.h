// Values whose sizes onnx's inference gets wrong.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_set>

namespace compatcheck::onnx {

// Finds the sequences that Loops carry, and values that follow from them, in all bodies. onnx's inference gives every member of
// such a sequence the sizes of the members before the first iteration; ONNX Runtime relies on the file.
std::unordered_set<std::string> of_carried_sequences(const ::onnx::GraphProto& graph);

}  // namespace compatcheck::onnx

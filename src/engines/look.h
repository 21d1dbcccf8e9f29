// An ONNX model as an engine would take it.
#pragma once

#include <onnx/onnx_pb.h>

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engines/judge.h"
#include "engines/profile.h"
#include "mapping/table.h"
#include "onnx/model.h"

namespace compatcheck::engines {

struct Looked {
  const onnx::Node* node = nullptr;
  std::string name;  // "Conv", "com.microsoft::Gelu"
  Verdict verdict{};
  bool foreign = false;                      // not ONNX: an operator that the export type kept
  bool body_supported = false;               // if no or unknown: the engine supports the body of its ONNX function
  const ::onnx::NodeProto* proto = nullptr;  // set instead of `node` if a file was examined
};

struct Look {
  std::string out_of_range;   // why the engine supports no such model at all; empty: it may
  std::vector<Looked> nodes;  // includes bodies, in order
  int partitions = 0;

  bool all_supported() const;
};

// Calls that were written as PyTorch operators: no; unknown if it isn't known what they become.
using Kept = std::unordered_map<const ir::Node*, Support>;

Look look_at(const onnx::Model& model, const Profile& profile, std::span<const mapping::OnnxChange> changes,
             const Kept& kept = {});

// The same for a file's model whose types were inferred.
Look look_at(const ::onnx::ModelProto& model, const Profile& profile, std::span<const mapping::OnnxChange> changes);

// The number of groups of supported nodes that ONNX Runtime makes: it follows the graph's edges, and visits all supported nodes
// that can be reached before the next unsupported one; those visited until then form a group. Bodies have groups of their own,
// unless the whole node is supported. `supported`: in for_each_node's order.
int count_partitions(const onnx::Model& model, const std::vector<bool>& supported);
int count_partitions(const ::onnx::ModelProto& model, const std::vector<bool>& supported);

}  // namespace compatcheck::engines

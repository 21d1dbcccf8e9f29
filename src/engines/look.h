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
  bool body_taken = false;                   // for no and unknown: the engine supports the body of its ONNX function
  const ::onnx::NodeProto* proto = nullptr;  // instead of `node` where a file was looked at
};

struct Look {
  std::string out_of_range;   // why the engine supports no such model at all; empty: it may
  std::vector<Looked> nodes;  // bodies included, in order
  int partitions = 0;

  bool taken() const;  // all nodes: yes
};

// Calls that were written as PyTorch's operators: no; unknown where it isn't known what they become.
using Kept = std::unordered_map<const ir::Node*, Support>;

Look look_at(const onnx::Model& model, const Profile& profile, std::span<const mapping::OnnxChange> changes,
             const Kept& kept = {});

// The same of a file's model whose types were inferred.
Look look_at(const ::onnx::ModelProto& model, const Profile& profile, std::span<const mapping::OnnxChange> changes);

// Groups of supported nodes as ONNX Runtime makes them: going through the graph in the order of its edges, all supported nodes
// that can be reached come before the next unsupported one; what was taken until then is a group. Bodies have groups of their
// own, unless all of the node is supported. `supported`: of for_each_node's order.
int count_partitions(const onnx::Model& model, const std::vector<bool>& supported);
int count_partitions(const ::onnx::ModelProto& model, const std::vector<bool>& supported);

}  // namespace compatcheck::engines

// An ONNX model at another opset. Nodes that mean the same there stay as they are, with their names.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/watch.h"
#include "retarget/setting.h"

namespace compatcheck::retarget {

// The outcome of a node of the model. Outcomes stand in the order of the graph, a node before those in its bodies.
struct NodeOutcome {
  const ::onnx::NodeProto* node = nullptr;
  bool converts = true;
  std::string reason, hint;              // otherwise
  bool kept = false;                     // nothing of it changes
  std::map<std::string, int> emitted{};  // operators of its nodes; constants don't count
  int work = 0;                          // number of them, without casts, shapes and other changes of form
};

struct Retargeted {
  ::onnx::ModelProto model;  // whole only if every node converts
  std::vector<NodeOutcome> outcomes;
  bool converts() const;
};

// The version of ONNX's own domain that the model imports; 0 if it imports none.
int opset_of(const ::onnx::ModelProto& model);

// The model must outlive the result. Weights stay where they are. Throws ModelError if onnx's checker or its
// inference refuses the new model.
Retargeted retarget(const ::onnx::ModelProto& model, int opset, const Tables& tables, const ir::Watch& watch);
// The outcomes alone.
std::vector<NodeOutcome> outcomes_at(const ::onnx::ModelProto& model, int opset, const Tables& tables, const ir::Watch& watch);
// The lowest opset at which every node converts; nullopt if there is none.
std::optional<int> lowest_opset(const ::onnx::ModelProto& model, const Tables& tables, const ir::Watch& watch);

}  // namespace compatcheck::retarget

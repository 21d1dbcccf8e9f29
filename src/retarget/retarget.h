// An ONNX model at another opset. Nodes that mean the same there stay as they are, with their names.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/watch.h"
#include "retarget/setting.h"

namespace compatcheck::retarget {

// How a form suits an engine: its nodes that the engine doesn't support, those of which the profile doesn't say, and why the
// first of them isn't supported.
struct Fit {
  int unsupported = 0, unknown = 0;
  std::optional<std::string> limit{};
};
// Judges a model that is one form of a node alone, for each engine.
using Judge = std::function<std::vector<Fit>(const ::onnx::ModelProto&)>;

// A way to write a node.
struct Form {
  std::string text;                    // "the form of opset 16"; empty: the usual one
  int opset = 0;                       // of the form; 0 if it belongs to none
  std::vector<std::string> operators;  // of its nodes
  std::vector<Fit> fits;
};

// The outcome of a node of the model. Outcomes stand in the order of the graph, a node before those in its bodies.
struct NodeOutcome {
  const ::onnx::NodeProto* node = nullptr;
  bool converts = true;
  std::string reason, hint;              // otherwise
  bool kept = false;                     // nothing of it changes
  std::map<std::string, int> emitted{};  // operators of its nodes; constants don't count
  int work = 0;                          // number of them, without casts, shapes and other changes of form
  std::vector<Form> forms{};             // that were tried, the usual one first, if that one doesn't suit the engines
  std::size_t form = 0;                  // the one that is written
};

struct Retargeted {
  ::onnx::ModelProto model;  // whole only if every node converts
  std::vector<NodeOutcome> outcomes;
  bool converts() const;
};

// The version of ONNX's own domain that the model imports; 0 if it imports none.
int opset_of(const ::onnx::ModelProto& model);

// The model must outlive the result. Weights stay where they are. With `judge`, a node whose usual form has nodes that an engine
// doesn't support is written in the first form that suits all engines; if there is none, in the one with the fewest such nodes.
// Throws ModelError if onnx's checker or its inference refuses the new model.
Retargeted retarget(const ::onnx::ModelProto& model, int opset, const Tables& tables, const ir::Watch& watch,
                    const Judge& judge = nullptr);
// The outcomes alone.
std::vector<NodeOutcome> outcomes_at(const ::onnx::ModelProto& model, int opset, const Tables& tables, const ir::Watch& watch);
// The lowest opset at which every node converts; nullopt if there is none.
std::optional<int> lowest_opset(const ::onnx::ModelProto& model, const Tables& tables, const ir::Watch& watch);

}  // namespace compatcheck::retarget

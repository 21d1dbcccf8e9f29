// The nodes that are written for one node, and how a graph takes the place of a node.
#pragma once

#include <onnx/onnx_pb.h>

#include <initializer_list>
#include <string>
#include <unordered_set>
#include <vector>

namespace compatcheck::retarget {

struct Piece {
  std::vector<::onnx::NodeProto> nodes;
  std::vector<::onnx::TensorProto> initializers;
};

// The names of values and nodes of a model, bodies included.
class Names {
 public:
  explicit Names(const ::onnx::ModelProto& model);
  // Returns a name that no other value or node has: "stem", "stem_1" …
  std::string fresh(const std::string& stem);

  // Forms that are tried: their names are free again, except those of the form that is kept.
  std::size_t mark() const { return given_.size(); }
  void forget_since(std::size_t mark);
  void keep(const Piece& piece);

 private:
  void take(const ::onnx::GraphProto& graph);
  void take(const std::string& name);
  std::unordered_set<std::string> taken_;
  std::vector<std::string> given_;  // after the model's own
};

// Nodes for one node, in order.
class PieceWriter {
 public:
  PieceWriter(const ::onnx::NodeProto& whole, Names& names) : whole_(whole), names_(names) {}

  // Returns the name of an initializer with these elements.
  std::string constant(::onnx::TensorProto tensor, const std::string& what);
  // A node in front of the last one; returns its result's name.
  std::string node(const std::string& op, std::initializer_list<std::string> inputs,
                   std::vector<::onnx::AttributeProto> attributes = {});
  // A node with these outputs.
  void node_as(const std::string& op, std::initializer_list<std::string> inputs, const std::string& output,
               std::vector<::onnx::AttributeProto> attributes = {});
  void add(::onnx::NodeProto node) { piece_.nodes.push_back(std::move(node)); }
  std::string fresh(const std::string& what);
  Piece take() { return std::move(piece_); }

 private:
  const ::onnx::NodeProto& whole_;
  Names& names_;
  Piece piece_;
};

// The nodes of `graph`, whose inputs and outputs stand for those of `whole` in their order; absent outputs are left out. Other
// values get names of their own.
Piece splice(::onnx::GraphProto graph, const ::onnx::NodeProto& whole, const std::vector<std::string>& inputs, Names& names);

}  // namespace compatcheck::retarget

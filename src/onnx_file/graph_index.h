// Who gives and who reads each value of a graph.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace compatcheck::onnx_file {

// The graphs in its attributes: of If, Loop, Scan …
template <class Visit>
void for_each_body(const ::onnx::NodeProto& node, Visit&& visit) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const auto& graph : attribute.graphs()) visit(graph);
  }
}

// Returns the names that a node reads, each once: its inputs, and values of outer graphs that its bodies read.
std::vector<std::string> reads_of(const ::onnx::NodeProto& node);

class GraphIndex {
 public:
  // Throws ModelError where two nodes give one value. The graph must outlive it, unchanged.
  explicit GraphIndex(const ::onnx::GraphProto& graph);

  const ::onnx::GraphProto& graph() const { return graph_; }
  std::optional<std::size_t> producer(const std::string& value) const;
  const std::vector<std::string>& reads(std::size_t node) const { return reads_[node]; }
  bool is_initializer(const std::string& value) const { return initializers_.contains(value); }
  bool is_input(const std::string& value) const {
    return inputs_.contains(value);
  }  // true for an initializer that is an input, too
  bool is_output(const std::string& value) const { return outputs_.contains(value); }
  bool is_value(const std::string& value) const { return is_input(value) || is_initializer(value) || producer(value); }
  // Whether it depends on an input; what doesn't is the same in every run.
  bool varies(const std::string& value) const { return varying_.contains(value); }
  // Inputs without a default.
  std::vector<std::string> needed_inputs() const;
  std::vector<std::string> values() const;

  // Nodes of a module ("encoder.layer.0"), or the node of that name; empty: there is none. "/encoder/layer.0/MatMul" is in
  // "encoder.layer.0".
  std::vector<std::size_t> nodes_of(const std::string& module) const;
  std::vector<std::string> read_by(const std::vector<std::size_t>& nodes) const;   // variable values from elsewhere
  std::vector<std::string> given_by(const std::vector<std::size_t>& nodes) const;  // read by others or the model's outputs
  std::vector<std::string> modules() const;
  // The name of the node in whose body a value lies; nullopt: in none.
  std::optional<std::string> body_of(const std::string& value) const;

 private:
  const ::onnx::GraphProto& graph_;
  std::unordered_map<std::string, std::size_t> producers_;
  std::vector<std::vector<std::string>> reads_;
  std::unordered_set<std::string> inputs_, initializers_, outputs_, varying_;
};

// A node for a message: its name, or else its operator and its number.
std::string describe(const ::onnx::NodeProto& node, std::size_t index);

}  // namespace compatcheck::onnx_file

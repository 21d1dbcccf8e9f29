#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engines/look.h"

namespace compatcheck::engines {
namespace {

// A graph as partitions are counted in it, made here or read from a file.
struct CountedGraph;
struct CountedNode {
  std::vector<std::uint64_t> inputs, outputs;  // values by number
  std::vector<CountedGraph> bodies;
};
struct CountedGraph {
  std::vector<CountedNode> nodes;
  std::vector<std::uint64_t> outputs;
};

CountedGraph graph_of(const onnx::Graph& graph) {
  const auto numbers = [](const std::vector<onnx::ValueId>& values) {
    std::vector<std::uint64_t> made;
    for (const onnx::ValueId value : values)
      if (value != onnx::absent) made.push_back(value);
    return made;
  };
  CountedGraph made{.nodes = {}, .outputs = numbers(graph.outputs)};
  for (const onnx::Node& node : graph.nodes) {
    CountedNode& one = made.nodes.emplace_back(CountedNode{numbers(node.inputs), numbers(node.outputs), {}});
    for (const auto& attribute : node.attributes)
      if (const auto* body = std::get_if<std::shared_ptr<onnx::Graph>>(&attribute.value)) one.bodies.push_back(graph_of(**body));
  }
  return made;
}

// Names in bodies that hide others are no valid ONNX.
class Reader {
 public:
  CountedGraph graph_of(const ::onnx::GraphProto& graph) {
    CountedGraph made;
    for (const auto& output : graph.output()) made.outputs.push_back(number(output.name()));
    for (const auto& node : graph.node()) {
      CountedNode& one = made.nodes.emplace_back(CountedNode{numbers(node.input()), numbers(node.output()), {}});
      for (const auto& attribute : node.attribute())
        if (attribute.has_g()) one.bodies.push_back(graph_of(attribute.g()));
    }
    return made;
  }

 private:
  std::uint64_t number(const std::string& name) { return numbers_.try_emplace(name, numbers_.size()).first->second; }
  std::vector<std::uint64_t> numbers(const auto& names) {
    std::vector<std::uint64_t> made;
    for (const auto& name : names)
      if (!name.empty()) made.push_back(number(name));
    return made;
  }

  std::unordered_map<std::string, std::uint64_t> numbers_;
};

class Partitions {
 public:
  explicit Partitions(const std::vector<bool>& supported) : supported_(supported) {}

  // All nodes of the graph and its bodies are supported; counts the groups of graphs inside nodes that aren't so throughout.
  bool visit(const CountedGraph& graph) {
    std::vector<bool> whole;
    bool all = true;
    for (const CountedNode& node : graph.nodes) {
      bool supported = supported_[next_++];
      const int before = count_;
      for (const CountedGraph& body : node.bodies) supported = visit(body) && supported;
      if (supported) count_ = before;  // its bodies go with it
      whole.push_back(supported);
      all = all && supported;
    }
    count_ += groups(graph, whole);
    return all;
  }

  int count() const { return count_; }

 private:
  // Visits the values that a node reads, those of its bodies included.
  static void for_each_read(const CountedNode& node, auto&& visit) {
    for (const std::uint64_t input : node.inputs) visit(input);
    for (const CountedGraph& body : node.bodies) {
      for (const std::uint64_t output : body.outputs) visit(output);
      for (const CountedNode& inner : body.nodes) for_each_read(inner, visit);
    }
  }

  // Source: CreateSupportedPartitionNodeGroups of ONNX Runtime (onnxruntime/core/providers/partitioning_utils.cc).
  static int groups(const CountedGraph& graph, const std::vector<bool>& supported) {
    std::unordered_map<std::uint64_t, std::size_t> made;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const std::uint64_t output : graph.nodes[i].outputs) made.emplace(output, i);
    std::vector<std::vector<std::size_t>> readers(graph.nodes.size());
    std::vector<int> waiting(graph.nodes.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for_each_read(graph.nodes[i], [&](std::uint64_t value) {
        const auto found = made.find(value);
        if (found == made.end() || found->second == i) return;
        readers[found->second].push_back(i);
        ++waiting[i];
      });
    std::deque<std::size_t> ready, later;
    for (std::size_t i = 0; i < waiting.size(); ++i)
      if (waiting[i] == 0) ready.push_back(i);
    int groups = 0;
    bool open = false;  // whether the current group has a supported node
    while (!ready.empty() || !later.empty()) {
      if (ready.empty()) {
        open = false;
        ready.swap(later);
        continue;
      }
      const std::size_t node = ready.front();
      ready.pop_front();
      if (!supported[node] && open) {
        later.push_back(node);
        continue;
      }
      if (supported[node] && !open) {
        open = true;
        ++groups;
      }
      for (const std::size_t reader : readers[node])
        if (--waiting[reader] == 0) ready.push_back(reader);
    }
    return groups;
  }

  const std::vector<bool>& supported_;
  std::size_t next_ = 0;
  int count_ = 0;
};

}  // namespace

int count_partitions(const onnx::Model& model, const std::vector<bool>& supported) {
  Partitions partitions(supported);
  partitions.visit(graph_of(model.graph));
  return partitions.count();
}

int count_partitions(const ::onnx::ModelProto& model, const std::vector<bool>& supported) {
  Partitions partitions(supported);
  partitions.visit(Reader().graph_of(model.graph()));
  return partitions.count();
}

}  // namespace compatcheck::engines

#include <deque>
#include <unordered_map>

#include "engines/look.h"

namespace compatcheck::engines {
namespace {

class Partitions {
 public:
  explicit Partitions(const std::vector<bool>& supported) : supported_(supported) {}

  // All nodes of the graph and its bodies are supported; counts the groups of graphs inside nodes that aren't so throughout.
  bool visit(const onnx::Graph& graph) {
    std::vector<bool> whole;
    bool all = true;
    for (const onnx::Node& node : graph.nodes) {
      bool supported = supported_[next_++];
      const int before = count_;
      for (const auto& attribute : node.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<onnx::Graph>>(&attribute.value))
          supported = visit(**body) && supported;
      if (supported) count_ = before;  // its bodies go with it
      whole.push_back(supported);
      all = all && supported;
    }
    count_ += groups(graph, whole);
    return all;
  }

  int count() const { return count_; }

 private:
  // What a node reads, bodies included.
  static void for_each_read(const onnx::Node& node, auto&& visit) {
    for (const onnx::ValueId input : node.inputs) visit(input);
    for (const auto& attribute : node.attributes)
      if (const auto* body = std::get_if<std::shared_ptr<onnx::Graph>>(&attribute.value)) {
        for (const onnx::ValueId output : (*body)->outputs) visit(output);
        for (const onnx::Node& inner : (*body)->nodes) for_each_read(inner, visit);
      }
  }

  // Source: CreateSupportedPartitionNodeGroups of ONNX Runtime (onnxruntime/core/providers/partitioning_utils.cc).
  static int groups(const onnx::Graph& graph, const std::vector<bool>& supported) {
    std::unordered_map<onnx::ValueId, std::size_t> made;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const onnx::ValueId output : graph.nodes[i].outputs)
        if (output != onnx::absent) made.emplace(output, i);
    std::vector<std::vector<std::size_t>> readers(graph.nodes.size());
    std::vector<int> waiting(graph.nodes.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for_each_read(graph.nodes[i], [&](onnx::ValueId value) {
        const auto found = made.find(value);
        if (found == made.end() || found->second == i) return;
        readers[found->second].push_back(i);
        ++waiting[i];
      });
    std::deque<std::size_t> ready, later;
    for (std::size_t i = 0; i < waiting.size(); ++i)
      if (waiting[i] == 0) ready.push_back(i);
    int groups = 0;
    bool open = false;  // a supported node was taken since the last group ended
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
  partitions.visit(model.graph);
  return partitions.count();
}

}  // namespace compatcheck::engines

#include "onnx/carried_sequences.h"

#include <algorithm>

namespace compatcheck::onnx {
namespace {

class Search {
 public:
  // Whether anything in the graph was found.
  bool look(const ::onnx::GraphProto& graph) {
    bool any = false;
    for (const auto& node : graph.node()) any = look(node) || any;
    return any;
  }

  std::unordered_set<std::string> found;

 private:
  bool look(const ::onnx::NodeProto& node) {
    bool follows = std::ranges::any_of(node.input(), [&](const std::string& name) { return found.contains(name); });
    for (const auto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      if (node.op_type() == "Loop")
        for (const auto& input : attribute.g().input())
          if (input.type().has_sequence_type()) follows = found.insert(input.name()).second || follows;
      follows = look(attribute.g()) || follows;
    }
    if (follows)
      for (const std::string& output : node.output()) found.insert(output);
    return follows;
  }
};

}  // namespace

std::unordered_set<std::string> of_carried_sequences(const ::onnx::GraphProto& graph) {
  Search search;
  search.look(graph);
  // Values that a Loop carries beside a sequence may follow from it an iteration later.
  for (std::size_t known = 0; known != search.found.size();) {
    known = search.found.size();
    const auto carry = [&](const auto& self, const ::onnx::GraphProto& inside) -> void {
      for (const auto& node : inside.node())
        for (const auto& attribute : node.attribute()) {
          if (!attribute.has_g()) continue;
          self(self, attribute.g());
          if (node.op_type() != "Loop") continue;
          for (int i = 1; i < std::min(attribute.g().output_size(), attribute.g().input_size() - 1); ++i)
            if (search.found.contains(attribute.g().output(i).name())) search.found.insert(attribute.g().input(i + 1).name());
        }
    };
    carry(carry, graph);
    if (known != search.found.size()) search.look(graph);
  }
  return search.found;
}

}  // namespace compatcheck::onnx

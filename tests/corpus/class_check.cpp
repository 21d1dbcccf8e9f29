#include "corpus/class_check.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>

namespace compatcheck::corpus {
namespace {

// They change how a value is held, and are a call's work where the report names them.
constexpr std::array held{"Cast", "DequantizeLinear", "Identity", "QuantizeLinear", "Reshape", "Squeeze", "Unsqueeze"};
// Sizes become elements there.
constexpr std::array fills{"ConstantOfShape", "EyeLike", "Expand", "OneHot", "Range", "Tile"};
// Control flow and lists of the model itself.
constexpr std::array structure{"Constant", "If", "Loop", "SequenceConstruct"};

bool is_of(const auto& names, const std::string& op) { return std::ranges::find(names, op) != names.end(); }

struct Nodes {
  std::set<std::string> all, work;
  std::size_t work_count = 0;
};

void add_nodes(const ::onnx::GraphProto& graph, std::set<std::string> sizes, std::set<std::string> constants, Nodes& nodes) {
  for (const auto& initializer : graph.initializer()) constants.insert(initializer.name());
  std::set<std::string> results;  // sizes that leave the graph are data
  for (const auto& output : graph.output()) results.insert(output.name());
  for (const auto& node : graph.node()) {
    const std::string op = node.domain().empty() ? node.op_type() : node.domain() + "::" + node.op_type();
    nodes.all.insert(op);
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) add_nodes(attribute.g(), sizes, constants, nodes);
    if (op == "Constant") {
      constants.insert(node.output(0));
      continue;
    }
    const bool reads_shape = op == "Shape" || op == "Size";
    const bool reads_sizes = std::ranges::any_of(node.input(), [&](const auto& input) { return sizes.contains(input); });
    const bool reads_data = !reads_shape && std::ranges::any_of(node.input(), [&](const auto& input) {
      return !input.empty() && !sizes.contains(input) && !constants.contains(input);
    });
    if ((reads_shape || reads_sizes) && !reads_data && !is_of(fills, op)) {
      sizes.insert(node.output().begin(), node.output().end());
      if (std::ranges::none_of(node.output(), [&](const auto& output) { return results.contains(output); })) continue;
    }
    // Clean-up keeps nodes apart by a Sum of one value, which ONNX Runtime's fusions make wrong (docs/onnxruntime.md).
    if (is_of(held, op) || (op == "Sum" && node.input_size() == 1)) continue;
    nodes.work.insert(op);
    ++nodes.work_count;
  }
}

Nodes nodes_of(const std::filesystem::path& file) {
  ::onnx::ModelProto model;
  std::ifstream stream(file, std::ios::binary);
  Nodes nodes;
  if (model.ParseFromIstream(&stream)) add_nodes(model.graph(), {}, {}, nodes);
  return nodes;
}

// What clean-up writes in place of an operator that ONNX Runtime's fusions make wrong (docs/onnxruntime.md).
bool is_in(const std::string& name, const std::set<std::string>& names) {
  return names.contains(name) || (name == "Sqrt" && names.contains("Pow"));
}
bool is_named(const std::string& op, const std::set<std::string>& named) {
  return named.contains(op) || (op == "Pow" && named.contains("Sqrt"));
}

std::string joined(const auto& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string class_disagreement(const Report& report, const std::filesystem::path& file) {
  const Nodes nodes = nodes_of(file);
  std::set<std::string> named;
  std::size_t calls = 0;
  int emitted = 0;
  bool several = false;
  for (const OperatorSummary& op : report.operators) {
    if (op.operator_class == OperatorClass::structural) continue;
    named.insert(op.onnx.begin(), op.onnx.end());
    calls += static_cast<std::size_t>(op.nodes);
    several |= op.operator_class == OperatorClass::one_to_many;
    if (op.operator_class == OperatorClass::one_to_one && op.nodes == 1 && op.onnx.size() != 1)
      return op.op + " is reported one-to-one, and becomes " + joined(op.onnx);
    for (const auto& [name, count] : op.emitted) emitted += count;
    if (op.operator_class == OperatorClass::one_to_many && op.nodes == 1 && op.emitted.size() == 1 &&
        op.emitted.begin()->second == 1)
      return op.op + " is reported one-to-many, and becomes one node";
  }
  if (calls == 1 && emitted > 0)  // of several calls, clean-up folds what one gives the next
    for (const std::string& name : named)
      if (!is_in(name, nodes.all)) return "the report names " + name + ", which isn't in the file";
  for (const std::string& name : nodes.work)
    if (!is_named(name, named) && !is_of(structure, name)) return "the file holds " + name + ", which the report doesn't name";
  if (!several && nodes.work_count > calls)
    return "all calls are reported one-to-one, and " + std::to_string(calls) + " of them have " +
           std::to_string(nodes.work_count) + " nodes: " + joined(nodes.work);
  return {};
}

}  // namespace compatcheck::corpus

#include "retarget/piece.h"

#include <unordered_map>
#include <utility>

#include "onnx_file/graph_index.h"

namespace compatcheck::retarget {
namespace {

using Renamed = std::unordered_map<std::string, std::string>;

std::string stem_of(const ::onnx::NodeProto& whole) {
  if (!whole.name().empty()) return whole.name();
  for (const auto& output : whole.output())
    if (!output.empty()) return output;
  return whole.op_type();
}

void rename(std::string& name, const Renamed& renamed) {
  if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
}

void rename_graph(::onnx::GraphProto& graph, Renamed renamed, const std::string& stem, Names& names);

void rename_node(::onnx::NodeProto& node, const Renamed& renamed, const std::string& stem, Names& names) {
  for (auto& input : *node.mutable_input()) rename(input, renamed);
  for (auto& output : *node.mutable_output()) rename(output, renamed);
  node.set_name(names.fresh(stem + "/" + node.op_type()));
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) rename_graph(*attribute.mutable_g(), renamed, stem, names);
    for (auto& body : *attribute.mutable_graphs()) rename_graph(body, renamed, stem, names);
  }
}

// Values that the graph makes get fresh names, unless they have one.
void name_made(const ::onnx::GraphProto& graph, Renamed& renamed, const std::string& stem, Names& names) {
  for (const auto& tensor : graph.initializer())
    if (!renamed.contains(tensor.name())) renamed[tensor.name()] = names.fresh(stem + "/" + tensor.name());
  for (const auto& node : graph.node())
    for (const auto& output : node.output())
      if (!output.empty() && !renamed.contains(output)) renamed[output] = names.fresh(stem + "/" + output);
}

void rename_graph(::onnx::GraphProto& graph, Renamed renamed, const std::string& stem, Names& names) {
  for (auto& input : *graph.mutable_input()) renamed[input.name()] = names.fresh(stem + "/" + input.name());
  for (const auto& tensor : graph.initializer()) renamed.erase(tensor.name());
  for (const auto& node : graph.node())
    for (const auto& output : node.output()) renamed.erase(output);
  name_made(graph, renamed, stem, names);
  for (auto& tensor : *graph.mutable_initializer()) rename(*tensor.mutable_name(), renamed);
  for (auto& node : *graph.mutable_node()) rename_node(node, renamed, stem, names);
  for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
    for (auto& value : *values) rename(*value.mutable_name(), renamed);
}

}  // namespace

Names::Names(const ::onnx::ModelProto& model) {
  take(model.graph());
  taken_.insert("");
  given_.clear();
}

void Names::take(const std::string& name) {
  if (taken_.insert(name).second) given_.push_back(name);
}

void Names::forget_since(std::size_t mark) {
  for (; given_.size() > mark; given_.pop_back()) taken_.erase(given_.back());
}

void Names::keep(const Piece& piece) {
  ::onnx::GraphProto graph;
  for (const auto& node : piece.nodes) *graph.add_node() = node;
  take(graph);
  for (const auto& tensor : piece.initializers) take(tensor.name());
}

void Names::take(const ::onnx::GraphProto& graph) {
  for (const auto* values : {&graph.input(), &graph.output(), &graph.value_info()})
    for (const auto& value : *values) take(value.name());
  for (const auto& tensor : graph.initializer()) take(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) take(tensor.values().name());
  for (const auto& node : graph.node()) {
    take(node.name());
    for (const auto& output : node.output()) take(output);
    onnx_file::for_each_body(node, [&](const ::onnx::GraphProto& body) { take(body); });
  }
}

std::string Names::fresh(const std::string& stem) {
  std::string name = stem;
  for (int i = 1; !taken_.insert(name).second; ++i) name = stem + "_" + std::to_string(i);
  given_.push_back(name);
  return name;
}

std::string PieceWriter::fresh(const std::string& what) { return names_.fresh(stem_of(whole_) + "/" + what); }

std::string PieceWriter::constant(::onnx::TensorProto tensor, const std::string& what) {
  tensor.set_name(fresh(what));
  piece_.initializers.push_back(std::move(tensor));
  return piece_.initializers.back().name();
}

std::string PieceWriter::node(const std::string& op, std::initializer_list<std::string> inputs,
                              std::vector<::onnx::AttributeProto> attributes) {
  const std::string output = fresh(op + "_output");
  node_as(op, inputs, output, std::move(attributes));
  return output;
}

void PieceWriter::node_as(const std::string& op, std::initializer_list<std::string> inputs, const std::string& output,
                          std::vector<::onnx::AttributeProto> attributes) {
  ::onnx::NodeProto made;
  made.set_op_type(op);
  made.set_name(fresh(op));
  for (const auto& input : inputs) made.add_input(input);
  made.add_output(output);
  for (auto& attribute : attributes) *made.add_attribute() = std::move(attribute);
  piece_.nodes.push_back(std::move(made));
}

Piece splice(::onnx::GraphProto graph, const ::onnx::NodeProto& whole, const std::vector<std::string>& inputs, Names& names) {
  const std::string stem = stem_of(whole);
  Renamed renamed;
  for (int i = 0; i < graph.input_size(); ++i) renamed[graph.input(i).name()] = inputs[static_cast<std::size_t>(i)];
  std::unordered_set<std::string> made;
  for (const auto& node : graph.node()) made.insert(node.output().begin(), node.output().end());
  Piece piece;
  std::vector<std::pair<std::string, std::string>> same;  // values of outputs that have a name already
  for (int i = 0; i < whole.output_size(); ++i) {
    if (whole.output(i).empty()) continue;
    const std::string& given = graph.output(i).name();
    if (!made.contains(given) || renamed.contains(given))
      same.emplace_back(given, whole.output(i));
    else
      renamed[given] = whole.output(i);
  }
  name_made(graph, renamed, stem, names);
  for (auto& tensor : *graph.mutable_initializer()) {
    rename(*tensor.mutable_name(), renamed);
    piece.initializers.push_back(std::move(tensor));
  }
  for (auto& node : *graph.mutable_node()) {
    rename_node(node, renamed, stem, names);
    piece.nodes.push_back(std::move(node));
  }
  for (const auto& [given, output] : same) {
    ::onnx::NodeProto identity;
    identity.set_op_type("Identity");
    identity.set_name(names.fresh(stem + "/Identity"));
    identity.add_input(renamed.contains(given) ? renamed.at(given) : given);
    identity.add_output(output);
    piece.nodes.push_back(std::move(identity));
  }
  if (piece.nodes.size() == 1) piece.nodes.front().set_name(whole.name());
  return piece;
}

}  // namespace compatcheck::retarget

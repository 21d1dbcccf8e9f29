#include "onnx_file/graph_index.h"

#include <algorithm>

#include "compatcheck/error.h"

namespace compatcheck::onnx_file {
namespace {

using Names = std::unordered_set<std::string>;

// The names that a body and those around it define.
struct BodyScope {
  const BodyScope* outer = nullptr;
  Names names{};

  bool contains(const std::string& name) const {
    for (const BodyScope* scope = this; scope; scope = scope->outer)
      if (scope->names.contains(name)) return true;
    return false;
  }
};

// Names that are read and not defined in the scope.
void collect_reads(const ::onnx::GraphProto& body, const BodyScope& outer, const auto& add);

void collect_reads(const ::onnx::NodeProto& node, const BodyScope& scope, const auto& add) {
  for (const auto& input : node.input())
    if (!input.empty() && !scope.contains(input)) add(input);
  for_each_body(node, [&](const ::onnx::GraphProto& body) { collect_reads(body, scope, add); });
}

void define(const ::onnx::GraphProto& body, Names& defined) {
  for (const auto& input : body.input()) defined.insert(input.name());
  for (const auto& tensor : body.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : body.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : body.node()) defined.insert(node.output().begin(), node.output().end());
}

void collect_reads(const ::onnx::GraphProto& body, const BodyScope& outer, const auto& add) {
  BodyScope scope{&outer};
  define(body, scope.names);
  for (const auto& node : body.node()) collect_reads(node, scope, add);
  for (const auto& output : body.output())
    if (!output.name().empty() && !scope.contains(output.name())) add(output.name());
}

bool defines(const ::onnx::NodeProto& node, const std::string& value) {
  bool found = false;
  for_each_body(node, [&](const ::onnx::GraphProto& body) {
    Names defined;
    define(body, defined);
    found = found || defined.contains(value) ||
            std::ranges::any_of(body.node(), [&](const auto& inner) { return defines(inner, value); });
  });
  return found;
}

// "/encoder/layer.0/MatMul" → "encoder.layer.0"; nullopt for names that aren't paths.
std::optional<std::string> module_of(const std::string& node) {
  const auto last = node.rfind('/');
  if (last == node.npos) return std::nullopt;
  std::string module = node.substr(node.front() == '/' ? 1 : 0, last - (node.front() == '/' ? 1 : 0));
  if (last == 0) module.clear();
  std::ranges::replace(module, '/', '.');
  return module;
}

}  // namespace

std::vector<std::string> reads_of(const ::onnx::NodeProto& node) {
  std::vector<std::string> reads;
  Names seen;
  collect_reads(node, BodyScope{}, [&](const std::string& name) {
    if (seen.insert(name).second) reads.push_back(name);
  });
  return reads;
}

GraphIndex::GraphIndex(const ::onnx::GraphProto& graph) : graph_(graph) {
  for (const auto& tensor : graph.initializer()) initializers_.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) initializers_.insert(tensor.values().name());
  for (const auto& input : graph.input()) {
    inputs_.insert(input.name());
    if (!is_initializer(input.name())) varying_.insert(input.name());
  }
  for (const auto& output : graph.output()) outputs_.insert(output.name());
  reads_.reserve(static_cast<std::size_t>(graph.node_size()));
  for (const auto& node : graph.node()) {
    const std::size_t index = reads_.size();
    reads_.push_back(reads_of(node));
    const bool varies = std::ranges::any_of(reads_.back(), [&](const auto& name) { return varying_.contains(name); });
    for (const auto& output : node.output()) {
      if (output.empty()) continue;
      if (!producers_.emplace(output, index).second || is_input(output) || is_initializer(output))
        throw ModelError("isn't valid ONNX: '" + output + "' is given twice, also by node " + describe(node, index));
      if (varies) varying_.insert(output);
    }
  }
}

std::optional<std::size_t> GraphIndex::producer(const std::string& value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> GraphIndex::needed_inputs() const {
  std::vector<std::string> names;
  for (const auto& input : graph_.input())
    if (!is_initializer(input.name())) names.push_back(input.name());
  return names;
}

std::vector<std::string> GraphIndex::values() const {
  std::vector<std::string> names;
  for (const auto& input : graph_.input()) names.push_back(input.name());
  for (const auto& node : graph_.node())
    for (const auto& output : node.output())
      if (!output.empty()) names.push_back(output);
  return names;
}

std::vector<std::size_t> GraphIndex::nodes_of(const std::string& module) const {
  std::vector<std::size_t> nodes;
  if (module.empty()) return nodes;
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    const std::string& name = graph_.node(static_cast<int>(i)).name();
    const auto own = module_of(name);
    if (name == module || (own && (*own == module || own->starts_with(module + ".")))) nodes.push_back(i);
  }
  return nodes;
}

std::vector<std::string> GraphIndex::read_by(const std::vector<std::size_t>& nodes) const {
  const std::set<std::size_t> own(nodes.begin(), nodes.end());
  std::vector<std::string> names;
  Names seen;
  for (const std::size_t node : nodes)
    for (const auto& name : reads_[node]) {
      const auto from = producer(name);
      if (varies(name) && !(from && own.contains(*from)) && seen.insert(name).second) names.push_back(name);
    }
  return names;
}

std::vector<std::string> GraphIndex::given_by(const std::vector<std::size_t>& nodes) const {
  const std::set<std::size_t> own(nodes.begin(), nodes.end());
  Names read_outside = outputs_;
  for (std::size_t i = 0; i < reads_.size(); ++i)
    if (!own.contains(i)) read_outside.insert(reads_[i].begin(), reads_[i].end());
  std::vector<std::string> names, constant;
  for (const std::size_t node : nodes)
    for (const auto& output : graph_.node(static_cast<int>(node)).output())
      if (!output.empty() && read_outside.contains(output)) (varies(output) ? names : constant).push_back(output);
  return names.empty() ? constant : names;
}

std::vector<std::string> GraphIndex::modules() const {
  std::set<std::string> modules;
  for (const auto& node : graph_.node())
    for (auto module = module_of(node.name()); module && !module->empty() && modules.insert(*module).second;) {
      const auto dot = module->rfind('.');
      module->resize(dot == module->npos ? 0 : dot);
    }
  return {modules.begin(), modules.end()};
}

std::optional<std::string> GraphIndex::body_of(const std::string& value) const {
  for (int i = 0; i < graph_.node_size(); ++i)
    if (defines(graph_.node(i), value)) return describe(graph_.node(i), static_cast<std::size_t>(i));
  return std::nullopt;
}

std::string describe(const ::onnx::NodeProto& node, std::size_t index) {
  return node.name().empty() ? node.op_type() + " (number " + std::to_string(index) + ")" : node.name();
}

}  // namespace compatcheck::onnx_file

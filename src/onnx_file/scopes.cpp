#include "onnx_file/scopes.h"

#include "onnx_file/graph_index.h"

namespace compatcheck::onnx_file {

void Scopes::add(const ::onnx::GraphProto& graph, const Scope* around, const ::onnx::NodeProto* owner) {
  Scope& scope = scopes_.emplace_back(Scope{.graph = &graph, .around = around, .owner = owner});
  const auto note = [&](const std::string& name, Origin origin) {
    if (name.empty()) return;
    origin.scope = &scope;
    const auto [at, added] = scope.names.emplace(name, origin);
    if (!added) return;
    const auto [other, first] = anywhere_.emplace(name, &at->second);
    if (!first && !(other->second && !other->second->scope->around)) other->second = nullptr;
  };
  for (const auto& tensor : graph.initializer())
    note(tensor.name(), {.initializer = &tensor});  // before the inputs that have them as defaults
  for (const auto& tensor : graph.sparse_initializer()) note(tensor.values().name(), {.sparse_initializer = &tensor});
  for (const auto& input : graph.input()) note(input.name(), {});
  for (const auto& node : graph.node())
    for (const std::string& output : node.output()) note(output, {.node = &node});
  for (const auto& node : graph.node()) for_each_body(node, [&](const ::onnx::GraphProto& body) { add(body, &scope, &node); });
}

const Origin* Scopes::find(const Scope& scope, const std::string& name) {
  for (const Scope* at = &scope; at; at = at->around)
    if (const auto found = at->names.find(name); found != at->names.end()) return &found->second;
  return nullptr;
}

const Origin* Scopes::find(const std::string& name) const {
  const auto found = anywhere_.find(name);
  return found == anywhere_.end() ? nullptr : found->second;
}

}  // namespace compatcheck::onnx_file

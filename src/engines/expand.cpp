#include "engines/expand.h"

#include <onnx/inliner/inliner.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>

namespace compatcheck::engines {
namespace {

bool carries(const ::onnx::ModelProto& model, const Node& node) {
  return std::ranges::any_of(
      model.functions(), [&](const auto& function) { return function.name() == node.op && function.domain() == node.domain; });
}

int opset_of_domain(const ::onnx::ModelProto& model, const std::string& domain) {
  for (const auto& one : model.opset_import())
    if (one.domain() == domain) return static_cast<int>(one.version());
  return 1;
}

// Follows ONNX Runtime: a function has no body at an opset at which one of the body's operators has another version than the
// body was written for.
bool has_function(const ::onnx::ModelProto& model, const Node& node) {
  const auto* schema = node.schema ? ::onnx::OpSchemaRegistry::Schema(node.op, node.version, node.domain) : nullptr;
  if (!schema) return false;
  const int opset = opset_of_domain(model, node.domain);
  if (schema->HasFunction()) return schema->GetFunction(opset, true) != nullptr;
  if (!schema->HasContextDependentFunction()) return false;
  const ::onnx::NodeProto& proto = model.graph().node(0);
  std::vector<::onnx::TypeProto> types;
  for (const auto& name : proto.input()) {
    const auto found = std::ranges::find_if(model.graph().input(), [&](const auto& input) { return input.name() == name; });
    types.push_back(found == model.graph().input().end() ? ::onnx::TypeProto() : found->type());
  }
  ::onnx::FunctionProto body;
  return schema->BuildContextDependentFunction(::onnx::FunctionBodyBuildContextImpl(proto, types), body, opset);
}

// A body refers to attributes, and its inliner doesn't ask the schema for those that aren't set.
void state_defaults(::onnx::NodeProto& proto, const Node& node) {
  for (const auto& [name, attribute] : ::onnx::OpSchemaRegistry::Schema(node.op, node.version, node.domain)->attributes())
    if (attribute.default_value.type() != ::onnx::AttributeProto::UNDEFINED && !node.attribute(name)) {
      *proto.add_attribute() = attribute.default_value;
      proto.mutable_attribute()->rbegin()->set_name(name);
    }
}

}  // namespace

std::optional<std::vector<Node>> expand(const Node& node) {
  if (!node.alone) return std::nullopt;
  try {
    ::onnx::ModelProto model = node.alone();
    const bool own = carries(model, node);
    if (!own && !has_function(model, node)) return std::nullopt;
    if (!own) state_defaults(*model.mutable_graph()->mutable_node(0), node);
    if (own)
      ::onnx::inliner::InlineLocalFunctions(model);
    else
      ::onnx::inliner::InlineSelectedFunctions(model, *::onnx::inliner::FunctionIdSet::Create({{node.domain, node.op}}), nullptr);
    const auto& nodes = model.graph().node();
    if (!own &&
        std::ranges::any_of(nodes, [&](const auto& one) { return one.op_type() == node.op && one.domain() == node.domain; }))
      return std::nullopt;
    ::onnx::shape_inference::InferShapes(model);
    return nodes_of(model);
  } catch (const std::exception&) {
    return std::nullopt;  // onnx's own words for a body that doesn't fit the call
  }
}

}  // namespace compatcheck::engines

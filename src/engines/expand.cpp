#include "engines/expand.h"

#include <onnx/inliner/inliner.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>

namespace compatcheck::engines {
namespace {

bool carries(const ::onnx::ModelProto& model, const Node& node) {
  return std::ranges::any_of(model.functions(), [&](const auto& function) { return function.name() == node.op && function.domain() == node.domain; });
}

bool has_function(const ::onnx::ModelProto& model, const Node& node) {
  if (carries(model, node)) return true;
  const auto* schema = node.schema ? ::onnx::OpSchemaRegistry::Schema(node.op, node.version, node.domain) : nullptr;
  return schema && (schema->HasFunction() || schema->HasContextDependentFunction());
}

}  // namespace

std::optional<std::vector<Node>> expand(const Node& node) {
  if (!node.alone) return std::nullopt;
  try {
    ::onnx::ModelProto model = node.alone();
    if (!has_function(model, node)) return std::nullopt;
    const bool own = carries(model, node);
    if (own) ::onnx::inliner::InlineLocalFunctions(model);
    else ::onnx::inliner::InlineSelectedFunctions(model, *::onnx::inliner::FunctionIdSet::Create({{node.domain, node.op}}), nullptr);
    const auto& nodes = model.graph().node();
    if (!own && std::ranges::any_of(nodes, [&](const auto& one) { return one.op_type() == node.op && one.domain() == node.domain; })) return std::nullopt;
    ::onnx::shape_inference::InferShapes(model);
    return nodes_of(model);
  } catch (const std::exception&) {
    return std::nullopt;   // onnx's own words for a body that doesn't fit the call
  }
}

}  // namespace compatcheck::engines

#include "retarget/function_body.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <map>
#include <set>

#include "onnx/builder.h"
#include "onnx/schema.h"

namespace compatcheck::retarget {
namespace {

using ::onnx::FunctionProto;
using ::onnx::NodeProto;
using Attributes = std::map<std::string, const ::onnx::AttributeProto*>;

void rename_values(NodeProto& node, const std::map<std::string, std::string>& names, const Attributes& given);

void rename_body(::onnx::GraphProto& graph, const std::map<std::string, std::string>& names, const Attributes& given) {
  for (auto& node : *graph.mutable_node()) rename_values(node, names, given);
  for (auto& output : *graph.mutable_output())
    if (const auto found = names.find(output.name()); found != names.end()) output.set_name(found->second);
}

void rename_values(NodeProto& node, const std::map<std::string, std::string>& names, const Attributes& given) {
  for (auto* values : {node.mutable_input(), node.mutable_output()})
    for (auto& value : *values)
      if (const auto found = names.find(value); found != names.end()) value = found->second;
  ::google::protobuf::RepeatedPtrField<::onnx::AttributeProto> attributes;
  for (const auto& attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      auto* made = attributes.Add();
      *made = attribute;
      if (made->has_g()) rename_body(*made->mutable_g(), names, given);
      continue;
    }
    const auto found = given.find(attribute.ref_attr_name());
    if (found == given.end()) continue;
    auto* made = attributes.Add();
    *made = *found->second;
    made->set_name(attribute.name());
  }
  node.mutable_attribute()->Swap(&attributes);
}

int own_opset(const FunctionProto& function, int otherwise) {
  for (const auto& import : function.opset_import())
    if (onnx::is_own_domain(import.domain())) return static_cast<int>(import.version());
  return otherwise;
}

Body body_with(const NodeProto& node, const FunctionProto& function, const Scope& scope, int otherwise,
               const Attributes& attributes) {
  Body body;
  body.opset = own_opset(function, otherwise);
  body.model.set_ir_version(10);
  for (const auto& import : function.opset_import()) *body.model.add_opset_import() = import;
  if (function.opset_import_size() == 0) body.model.add_opset_import()->set_version(body.opset);
  auto& graph = *body.model.mutable_graph();
  graph.set_name("body");
  std::map<std::string, std::string> names;
  std::set<std::string> taken;
  for (int i = 0; i < function.input_size(); ++i) {
    const std::string& value = input_of(node, i);
    names[function.input(i)] = value.empty() ? "" : function.input(i);
    if (value.empty()) continue;
    auto* input = graph.add_input();
    input->set_name(function.input(i));
    if (const auto* type = scope.type(value)) *input->mutable_type() = *type;
    body.inputs.push_back(value);
    if (const auto* constant = scope.constant(value)) {
      auto* initializer = graph.add_initializer();
      *initializer = *constant;
      initializer->set_name(function.input(i));
    }
  }
  for (const auto& inner : function.node()) {
    NodeProto made = inner;
    rename_values(made, names, attributes);
    *graph.add_node() = std::move(made);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    auto* output = graph.add_output();
    if (i < function.output_size()) output->set_name(function.output(i));
    if (const auto* type = scope.type(node.output(i))) *output->mutable_type() = *type;
  }
  return body;
}

// ONNX's definition of LayerNormalization flattens scale and bias; the operator itself also broadcasts them.
void demand_whole_scale(const NodeProto& node, const Scope& scope) {
  const auto sizes = scope.sizes(input_of(node, 0));
  for (int input = 1; input < node.input_size(); ++input) {
    if (node.input(input).empty()) continue;
    const auto scale = scope.sizes(node.input(input));
    bool whole = sizes && scale;
    if (whole) {
      const auto rank = static_cast<std::int64_t>(sizes->size());
      const auto first = static_cast<std::size_t>(axis_of(int_of(node, "axis", -1), rank));
      whole = scale->size() == sizes->size() - first;
      for (std::size_t i = 0; whole && i < scale->size(); ++i) {
        const auto &one = (*scale)[i], &other = (*sizes)[first + i];
        whole = one && (other ? *one == *other : *one != 1);
      }
    }
    if (!whole) throw onnx::Refusal{"its scale or bias may be broadcast"};
  }
}

}  // namespace

Body body_of(const NodeProto& node, const FunctionProto& function, const Scope& scope, int otherwise) {
  Attributes attributes;
  for (const auto& attribute : function.attribute_proto()) attributes[attribute.name()] = &attribute;
  for (const auto& attribute : node.attribute()) attributes[attribute.name()] = &attribute;
  return body_with(node, function, scope, otherwise, attributes);
}

std::optional<Body> definition_of(const NodeProto& node, const Scope& scope, int from, int to) {
  const auto* schema = ::onnx::OpSchemaRegistry::Schema(node.op_type(), from, node.domain());
  if (!schema) return std::nullopt;
  std::vector<int> versions = schema->function_opset_versions();
  const bool by_context = versions.empty();
  if (by_context) versions = schema->context_dependent_function_opset_versions();
  if (versions.empty()) return std::nullopt;
  if (is_own(node, "LayerNormalization")) demand_whole_scale(node, scope);
  int version = versions.front();
  for (const int one : versions)
    if (one <= to) version = std::max(version, one);
  Attributes attributes;
  for (const auto& [name, attribute] : schema->attributes())
    if (attribute.default_value.type() != ::onnx::AttributeProto::UNDEFINED) attributes[name] = &attribute.default_value;
  for (const auto& attribute : node.attribute()) attributes[attribute.name()] = &attribute;
  if (!by_context) {
    const FunctionProto* function = schema->GetFunction(version);
    return function ? std::optional(body_with(node, *function, scope, version, attributes)) : std::nullopt;
  }
  std::vector<::onnx::TypeProto> types;
  for (const auto& input : node.input()) {
    const auto* type = input.empty() ? nullptr : scope.type(input);
    types.push_back(type ? *type : ::onnx::TypeProto());
  }
  FunctionProto function;
  try {
    if (!schema->BuildContextDependentFunction(::onnx::FunctionBodyBuildContextImpl(node, types), function, version))
      return std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return body_with(node, function, scope, version, attributes);
}

}  // namespace compatcheck::retarget

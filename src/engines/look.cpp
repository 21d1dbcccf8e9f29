#include "engines/look.h"

#include <algorithm>

#include "onnx/proto.h"

namespace compatcheck::engines {
namespace {

std::string out_of_range(int opset, int ir, const std::string& needs, const Profile& profile) {
  if (profile.opsets && !profile.opsets->holds(opset))
    return "the engine supports models of opset " + std::to_string(profile.opsets->first) + " to " +
           std::to_string(profile.opsets->last) + ", not of opset " + std::to_string(opset);
  if (profile.ir && ir > *profile.ir)
    return "the engine reads files up to IR version " + std::to_string(*profile.ir) + "; " + needs + " IR version " +
           std::to_string(ir);
  return {};
}

int opset_of(const ::onnx::ModelProto& model) {
  for (const auto& one : model.opset_import())
    if (onnx::is_own_domain(one.domain())) return static_cast<int>(one.version());
  return 1;
}

// In the order of nodes_of().
void for_each_proto(const ::onnx::GraphProto& graph, auto&& visit) {
  for (const auto& node : graph.node()) {
    visit(node);
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) for_each_proto(attribute.g(), visit);
  }
}

}  // namespace

bool Look::all_supported() const {
  return out_of_range.empty() &&
         std::ranges::all_of(nodes, [](const Looked& one) { return one.verdict.support == Support::yes; });
}

Look look_at(const onnx::Model& model, const Profile& profile, std::span<const mapping::OnnxChange> changes, const Kept& kept) {
  const Judge judge(profile, changes);
  const Values values = values_of(model);
  Look look;
  look.out_of_range =
      out_of_range(model.opset, onnx::ir_version(model), "opset " + std::to_string(model.opset) + " needs", profile);
  std::vector<bool> supported;
  onnx::for_each_node(model.graph, [&](const onnx::Node& node) {
    const Node seen = node_of(node, model, values);
    Looked one{.node = &node, .name = seen.name()};
    const auto found = node.origin ? kept.find(node.origin) : kept.end();
    one.foreign = found != kept.end() && !onnx::is_onnx_domain(node.domain);
    if (!look.out_of_range.empty())
      one.verdict = {.support = Support::no, .rule = "CC102", .message = look.out_of_range};
    else if (one.foreign)
      one.verdict = {.support = found->second, .rule = "CC101", .message = "this operator isn't an ONNX operator"};
    else
      one.verdict = judge(seen, model.opset);
    if (!one.foreign && look.out_of_range.empty() && one.verdict.support != Support::yes)
      one.body_supported = judge.takes_body(seen, model.opset);
    supported.push_back(one.verdict.support == Support::yes);
    if (!judge.is_initializer(seen)) look.nodes.push_back(std::move(one));
  });
  look.partitions = count_partitions(model, supported);
  return look;
}

Look look_at(const ::onnx::ModelProto& model, const Profile& profile, std::span<const mapping::OnnxChange> changes) {
  const Judge judge(profile, changes);
  const int opset = opset_of(model);
  Look look;
  look.out_of_range = out_of_range(opset, static_cast<int>(model.ir_version()), "this file has", profile);
  const std::vector<Node> nodes = nodes_of(model, ModelIs::file);
  std::vector<bool> supported;
  for_each_proto(model.graph(), [&](const ::onnx::NodeProto& proto) {
    const Node& seen = nodes[supported.size()];
    Looked one{.name = seen.name(), .proto = &proto};
    one.verdict = look.out_of_range.empty() ? judge(seen, opset)
                                            : Verdict{.support = Support::no, .rule = "CC102", .message = look.out_of_range};
    if (look.out_of_range.empty() && one.verdict.support != Support::yes) one.body_supported = judge.takes_body(seen, opset);
    supported.push_back(one.verdict.support == Support::yes);
    if (!judge.is_initializer(seen)) look.nodes.push_back(std::move(one));
  });
  look.partitions = count_partitions(model, supported);
  return look;
}

}  // namespace compatcheck::engines

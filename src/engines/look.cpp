#include "engines/look.h"

#include <algorithm>

#include "onnx/proto.h"

namespace compatcheck::engines {
namespace {

std::string out_of_range(const onnx::Model& model, const Profile& profile) {
  if (profile.opsets && !profile.opsets->holds(model.opset))
    return "it takes models of opset " + std::to_string(profile.opsets->first) + " to " + std::to_string(profile.opsets->last) +
           ", not of " + std::to_string(model.opset);
  const int ir = onnx::ir_version(model);
  if (profile.ir && ir > *profile.ir)
    return "it takes files of IR version " + std::to_string(*profile.ir) + " at most, and opset " + std::to_string(model.opset) +
           " needs " + std::to_string(ir);
  return {};
}

}  // namespace

bool Look::taken() const {
  return out_of_range.empty() &&
         std::ranges::all_of(nodes, [](const Looked& one) { return one.verdict.support == Support::yes; });
}

Look look_at(const onnx::Model& model, const Profile& profile, std::span<const mapping::OnnxChange> changes, const Kept& kept) {
  const Judge judge(profile, changes);
  const Values values = values_of(model);
  Look look;
  look.out_of_range = out_of_range(model, profile);
  std::vector<bool> supported;
  onnx::for_each_node(model.graph, [&](const onnx::Node& node) {
    const Node seen = node_of(node, model, values);
    Looked one{.node = &node, .name = seen.name()};
    const auto found = node.origin ? kept.find(node.origin) : kept.end();
    one.foreign = found != kept.end() && !onnx::is_onnx_domain(node.domain);
    if (!look.out_of_range.empty())
      one.verdict = {.support = Support::no, .rule = "CC102", .message = look.out_of_range};
    else if (one.foreign)
      one.verdict = {.support = found->second, .rule = "CC101", .message = "it isn't ONNX's"};
    else
      one.verdict = judge(seen, model.opset);
    if (!one.foreign && look.out_of_range.empty() && one.verdict.support != Support::yes)
      one.body_taken = judge.takes_body(seen, model.opset);
    supported.push_back(one.verdict.support == Support::yes);
    if (!judge.is_initializer(seen)) look.nodes.push_back(std::move(one));
  });
  look.partitions = count_partitions(model, supported);
  return look;
}

}  // namespace compatcheck::engines

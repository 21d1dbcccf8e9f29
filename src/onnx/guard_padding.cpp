// Zeros around the input of a pool, kept from what ONNX Runtime makes of them.
#include <algorithm>
#include <limits>
#include <map>

#include "onnx/cleanup.h"

namespace compatcheck::onnx {
namespace {

// Pads a pool's input by the pool's own pads.
Node padding_of(const Node& pool, const std::vector<std::int64_t>& sizes, Model& model) {
  std::vector<std::int64_t> pads(sizes.size() + 4, 0);
  std::ranges::copy(sizes.begin(), sizes.begin() + std::ssize(sizes) / 2, pads.begin() + 2);
  std::ranges::copy(sizes.begin() + std::ssize(sizes) / 2, sizes.end(), pads.end() - std::ssize(sizes) / 2);
  return {.op = "Pad",
          .domain = {},
          .inputs = {pool.inputs[0]},
          .outputs = {model.add_value({.dtype = model.values[pool.inputs[0]].dtype, .shape = {}, .name = {}})},
          .attributes = {{"pads", std::move(pads)}, {"value", -std::numeric_limits<double>::infinity()}},
          .name = {},
          .origin = pool.origin};
}

// Between the padding and a pool that pads, too: a Sum of one value.
Node sum_of(const Node& pool, Model& model) {
  return {.op = "Sum",
          .domain = {},
          .inputs = {pool.inputs[0]},
          .outputs = {model.add_value({.dtype = model.values[pool.inputs[0]].dtype, .shape = {}, .name = {}})},
          .attributes = {},
          .name = {},
          .origin = pool.origin};
}

bool rounds_up(const Node& pool) {
  const NodeAttribute* ceil = pool.attribute("ceil_mode");
  return ceil && std::get<std::int64_t>(ceil->value) != 0;
}

bool insert_before(Graph& graph, ValueId value, Node node) {
  for (auto at = graph.nodes.begin(); at != graph.nodes.end(); ++at) {
    if (std::ranges::find(at->outputs, value) != at->outputs.end()) return graph.nodes.insert(at, std::move(node)), true;
    bool inserted = false;
    for (NodeAttribute& attribute : at->attributes)
      if (auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute.value); body && !inserted)
        inserted = insert_before(**body, value, node);
    if (inserted) return true;
  }
  return false;
}

}  // namespace

void guard_padding(Model& model) {
  std::map<ValueId, const Node*> makers;
  std::vector<std::pair<ValueId, Node>> before;  // nodes that go before the node of a value
  for_each_node(model.graph, [&](Node& node) {
    for (const ValueId output : node.outputs) makers[output] = &node;
    const auto pads = std::ranges::find(node.attributes, "pads", &NodeAttribute::name);
    const bool averages = node.op == "AveragePool";
    if ((node.op != "MaxPool" && !averages) || !node.domain.empty() || node.outputs.size() > 1 || pads == node.attributes.end())
      return;
    const Node* maker = makers.contains(node.inputs[0]) ? makers[node.inputs[0]] : nullptr;
    if (maker && maker->op == "Cast" && makers.contains(maker->inputs[0])) maker = makers[maker->inputs[0]];
    if (!maker || maker->op != "Pad") return;
    const NodeAttribute* mode = maker->attribute("mode");
    if (mode && std::get<std::string>(mode->value) != "constant") return;
    const auto sizes = std::get<std::vector<std::int64_t>>(pads->value);
    const bool none = std::ranges::count(sizes, 0) == std::ssize(sizes);
    if (averages && (!none || rounds_up(node))) {
      before.emplace_back(node.outputs[0], sum_of(node, model));
      node.inputs[0] = before.back().second.outputs[0];
    } else if (none) {
      *pads = {"auto_pad", std::string("VALID")};
    } else if (model.opset >= 8) {
      node.outputs.push_back(model.add_value({.dtype = ir::DType::i64, .shape = {}, .name = {}}));
    } else {
      *pads = {"auto_pad", std::string("VALID")};
      before.emplace_back(node.outputs[0], padding_of(node, sizes, model));
      node.inputs[0] = before.back().second.outputs[0];
    }
  });
  for (auto& [value, node] : before) insert_before(model.graph, value, std::move(node));
}

}  // namespace compatcheck::onnx

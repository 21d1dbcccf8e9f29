#include "conversion/live_nodes.h"

#include <algorithm>
#include <unordered_set>

#include "onnx/cleanup.h"

namespace compatcheck::conversion {
namespace {

using Ids = std::unordered_set<onnx::ValueId>;

void add_values(const handlers::Operand& operand, Ids& ids) {
  const auto add = [&](const onnx::Value& value) { ids.insert(value.id); };
  if (const auto* tensor = operand.tensor()) add(*tensor);
  if (const auto* number = operand.number())
    if (const auto* value = std::get_if<onnx::Value>(&number->value)) add(*value);
  if (const auto* vector = std::get_if<handlers::Vector>(&operand.value)) add(vector->value);
  if (const auto* sequence = std::get_if<handlers::Sequence>(&operand.value)) add(sequence->value);
  if (const auto* tensor = std::get_if<handlers::Quantized>(&operand.value))
    add(tensor->integers), add(tensor->scale), add(tensor->zero_point);
  if (const auto* complex = operand.complex()) add(complex->real), add(complex->imag);
  if (const auto* list = operand.list())
    for (const auto& item : list->items) add_values(item, ids);
  if (const auto* dict = std::get_if<handlers::Dict>(&operand.value))
    for (const auto& item : dict->items) add_values(item.value, ids);
}

Ids results_of(const handlers::Emission& emission) {
  Ids ids;
  for (std::size_t i = 0; i < emission.results().size(); ++i)
    if (emission.results()[i] && emission.output_used(i)) add_values(*emission.results()[i], ids);
  return ids;
}

std::vector<const onnx::Graph*> bodies_of(const onnx::Node& node) {
  std::vector<const onnx::Graph*> bodies;
  for (const auto& attribute : node.attributes)
    if (const auto* body = std::get_if<std::shared_ptr<onnx::Graph>>(&attribute.value)) bodies.push_back(body->get());
  return bodies;
}

// Nodes in bodies before the node that holds the body.
void add_nodes(const onnx::Graph& graph, std::vector<const onnx::Node*>& nodes) {
  for (const onnx::Node& node : graph.nodes) {
    for (const onnx::Graph* body : bodies_of(node)) add_nodes(*body, nodes);
    nodes.push_back(&node);
  }
}

std::string name_of(const onnx::Node& node) { return node.domain.empty() ? node.op : node.domain + "::" + node.op; }

}  // namespace

void drop_dead(std::vector<onnx::Emitted>& runs, const onnx::Model& model, const handlers::Emission& emission) {
  std::vector<const onnx::Node*> nodes;
  add_nodes(model.graph, nodes);
  std::vector<onnx::Emitted> emitted;
  for (const onnx::Emitted& run : runs)
    emitted.insert(emitted.end(), static_cast<std::size_t>(run.count), {run.op, run.plumbing});
  // Casts that are put into a body afterwards come in another order: then all is kept.
  if (!std::ranges::equal(emitted, nodes, [](const auto& one, const auto* node) { return one.op == name_of(*node); })) return;
  const auto gone = onnx::foldable_nodes(model);  // computed while converting
  Ids read = results_of(emission);
  std::vector<bool> dead(nodes.size(), false);
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const onnx::Node& node = *nodes[i];
    if (gone.contains(&node) ||
        std::ranges::none_of(node.outputs, [&](onnx::ValueId id) { return id != onnx::absent && read.contains(id); })) {
      dead[i] = true;
      continue;
    }
    read.insert(node.inputs.begin(), node.inputs.end());
    for (const onnx::Graph* body : bodies_of(node)) read.insert(body->outputs.begin(), body->outputs.end());
  }
  runs.clear();
  for (std::size_t i = 0; i < emitted.size(); ++i) {
    if (dead[i]) continue;
    if (!runs.empty() && runs.back().op == emitted[i].op && runs.back().plumbing == emitted[i].plumbing)
      ++runs.back().count;
    else
      runs.push_back(std::move(emitted[i]));
  }
}

bool gives_constants(const onnx::Model& model, const handlers::Emission& emission) {
  Ids results = results_of(emission);
  for (const onnx::Initializer& initializer : model.initializers) results.erase(initializer.value);
  return results.empty();
}

}  // namespace compatcheck::conversion

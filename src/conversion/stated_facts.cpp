#include "conversion/stated_facts.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "conversion/fact_rules.h"
#include "conversion/type_facts.h"
#include "onnx/proto.h"

namespace compatcheck::conversion {
namespace {

using symbolic::Dim;
using symbolic::Fact;
using symbolic::Shape;
using symbolic::TensorFact;

// Named sizes vary: two expressions that aren't equal differ for some of them.
bool contradict(const Dim& a, const Dim& b) { return !a.is_unknown() && !b.is_unknown() && !provably_equal(a, b); }

bool contradict(const Shape& a, const Shape& b) {
  return a.size() != b.size() || !std::ranges::equal(a, b, [](const Dim& x, const Dim& y) { return !contradict(x, y); });
}

// Dtype and shape, or only the dtype.
std::string spelled_part(TensorFact tensor, bool shape) {
  if (!shape) tensor.shape.reset();
  return shape || !tensor.dtype ? symbolic::to_string({.value = std::move(tensor)}) : std::string(ir::name(*tensor.dtype));
}

std::optional<Contradiction> compared(const symbolic::Call& call, const mapping::OperatorRows& rows, const Fact& stated,
                                      const Fact& known, const std::string& source) {
  const TensorFact *says = stated.tensor(), *is = known.tensor();
  if (!says || !is) return std::nullopt;
  const bool dtypes = says->dtype && is->dtype && *says->dtype != *is->dtype;
  const bool shapes = says->shape && is->shape && contradict(*says->shape, *is->shape);
  if (!dtypes && !shapes) return std::nullopt;
  const std::string place = rows.place.file + ":" + std::to_string(rows.place.line);
  return Contradiction{&call.node(),
                       "`facts: " + rows.facts + "` of its row (" + place + ") says " + spelled_part(*says, shapes) + ", but " +
                           source + " " + spelled_part(*is, shapes),
                       shapes};
}

// The recorded sizes are those of the given inputs. A size that varies isn't recorded.
bool has_recorded_sizes(const ir::Value& value, const symbolic::FactTable& facts) {
  const auto* tensor = facts.of(&value).tensor();
  if (!tensor || tensor->known_constant) return true;
  const Fact type = fact_of_type(value.type());
  const auto* recorded = type.tensor();
  return recorded && recorded->shape && tensor->shape && recorded->shape->size() == tensor->shape->size() &&
         std::ranges::equal(*recorded->shape, *tensor->shape,
                            [](const Dim& before, const Dim& now) { return before.is_unknown() || provably_equal(before, now); });
}

Fact recorded_fact(const symbolic::Call& call, const ir::Value& output) {
  Fact fact = fact_of_type(output.type());
  auto* tensor = std::get_if<TensorFact>(&fact.value);
  const auto holds = [&](const ir::Value* input) { return has_recorded_sizes(*input, call.facts()); };
  if (tensor && tensor->shape && !std::ranges::all_of(call.node().inputs(), holds))
    tensor->shape = symbolic::unknown_sizes(tensor->shape->size());
  return fact;
}

std::vector<Fact> shipped_facts(const symbolic::Call& call, const Context& context) {
  const auto rule = shipped_rule(call.node(), context.schemas, context.registry);
  try {
    return rule ? rule(call) : std::vector<Fact>{};
  } catch (const symbolic::Impossible&) {
    return {};
  } catch (const std::length_error&) {
    return {};
  }
}

const mapping::OperatorRows* stating_rows(const ir::Node& node, const Context& context) {
  return node.schema() && !context.table.users().empty() ? users_facts(node.op(), node.overload(), context.table) : nullptr;
}

// ONNX's inference without the shapes that facts stated. A name of a size is kept only if it is an input's.
std::vector<std::optional<Shape>> inferred_shapes(const onnx::Model& model) {
  onnx::Model bare = model;
  std::set<onnx::ValueId> given(model.graph.inputs.begin(), model.graph.inputs.end());
  for (const onnx::Initializer& initializer : model.initializers) given.insert(initializer.value);
  std::set<std::string> names;
  for (const onnx::ValueId input : model.graph.inputs)
    if (const auto& shape = model.values[input].shape)
      for (const onnx::Dimension& dim : *shape) names.insert(dim.name);
  for (onnx::ValueId value = 0; value < bare.values.size(); ++value)
    if (!given.contains(value)) bare.values[value].shape.reset();
  onnx::infer_shapes(bare);
  std::vector<std::optional<Shape>> shapes(bare.values.size());
  for (onnx::ValueId value = 0; value < bare.values.size(); ++value) {
    if (!bare.values[value].shape || given.contains(value)) continue;
    Shape& shape = shapes[value].emplace();
    for (const onnx::Dimension& dim : *bare.values[value].shape)
      shape.push_back(dim.size                                        ? Dim(*dim.size)
                      : !dim.name.empty() && names.contains(dim.name) ? Dim::symbol(dim.name)
                                                                      : Dim::unknown());
  }
  return shapes;
}

}  // namespace

std::optional<Contradiction> contradicted_facts(const symbolic::Call& call, const Context& context) {
  const mapping::OperatorRows* rows = stating_rows(call.node(), context);
  if (!rows) return std::nullopt;
  const std::vector<Fact> shipped = shipped_facts(call, context);
  std::optional<Contradiction> found;
  for (std::size_t i = 0; i < call.node().outputs().size() && !(found && found->of_shape); ++i) {
    const ir::Value& output = *call.node().output(i);
    const Fact& stated = call.facts().of(&output);
    auto other = compared(call, *rows, stated, recorded_fact(call, output), "the model's file records");
    if (!other && i < shipped.size()) other = compared(call, *rows, stated, shipped[i], "PyTorch gives");
    if (other && (!found || other->of_shape)) found = std::move(other);
  }
  return found;
}

std::optional<Contradiction> contradicted_by_nodes(const ir::Graph& graph, const Context& context, const onnx::Model& model,
                                                   const std::vector<Stand>& stands) {
  std::unordered_map<const ir::Value*, onnx::ValueId> values;
  for (const Stand& stand : stands)
    if (stand.path.empty()) values.emplace(stand.value, model.left_of(stand.onnx));
  std::vector<std::optional<Shape>> shapes;
  std::optional<Contradiction> found;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    const mapping::OperatorRows* rows = found ? nullptr : stating_rows(*node, context);
    if (!rows) return;
    if (shapes.empty()) shapes = inferred_shapes(model);
    for (const ir::Value* output : node->outputs()) {
      const auto value = values.find(output);
      if (value == values.end() || !shapes[value->second]) continue;
      const Fact inferred = symbolic::tensor_fact(std::nullopt, shapes[value->second]);
      if (auto other =
              compared(symbolic::Call(*node, context.facts), *rows, context.facts.of(output), inferred, "its ONNX nodes give"))
        found = std::move(other);
    }
  });
  return found;
}

}  // namespace compatcheck::conversion

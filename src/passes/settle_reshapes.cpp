// reshape() gives a view where memory lies in the order of the sizes, else a copy. Writes need to know which.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "ir/open_strides.h"
#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "schema/traits.h"

namespace compatcheck::passes {
namespace {

// New memory in the order of the sizes, whatever the arguments.
bool is_ordered(const ir::Node& node) {
  return schema::has_trait(node.op(), schema::Trait::contiguous) || node.is("aten::contiguous") || node.is("aten::empty");
}

// In the order in which the arguments lie: that of the sizes if all lie so. Views of the same elements, too.
bool follows(const ir::Node& node) {
  return schema::has_trait(node.op(), schema::Trait::iterates) || schema::has_trait(node.op(), schema::Trait::same_order) ||
         node.is("aten::softmax");
}

constexpr int deepest = 200;

// No other memory order is requested: memory_format is absent, contiguous_format (0) or preserve_format (1).
bool keeps_order(const ir::Node& node) {
  const auto& arguments = node.schema()->arguments;
  for (std::size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i) {
    if (arguments[i].name != "memory_format") continue;
    const ir::Constant* format = ir::constant_of(node.input(i));
    const auto* number = format ? format->get<std::int64_t>() : nullptr;
    if (!format || !(format->is_none() || (number && (*number == 0 || *number == 1)))) return false;
  }
  return true;
}

// Other inputs lie in the order of their sizes, as ONNX's tensors do.
bool lies_in_order(const ir::Value* value, int depth = 0) {
  const ir::Node* maker = value->producer();
  if (!maker) return !value->block()->owner() && !ir::has_open_strides(value->type());
  if (const ir::Constant* constant = ir::constant_of(value)) {
    const auto* view = constant->get<ir::TensorView>();
    return view && view->contiguous();
  }
  if (depth > deepest || !maker->schema() || !keeps_order(*maker)) return false;
  if (is_ordered(*maker)) return true;
  if (!follows(*maker)) return false;
  return std::all_of(maker->inputs().begin(), maker->inputs().end(), [&](const ir::Value* input) {
    return !ir::is(input->type(), ir::TypeKind::tensor) || lies_in_order(input, depth + 1);
  });
}

}  // namespace

std::size_t settle_reshapes(ir::Graph& graph, const schema::Registry& registry, const ir::Watch& watch) {
  if (!writes_anything(*graph.top())) return 0;
  std::size_t settled = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!node->is("aten::reshape") || !lies_in_order(node->input(0))) continue;
    node->set_op("aten::view");
    node->set_overload("");
    node->set_schema(registry.find("aten::view", ""));
    ++settled;
  }
  return settled;
}

}  // namespace compatcheck::passes

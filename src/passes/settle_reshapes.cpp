// reshape() gives a view where memory lies in the order of the sizes, else a copy. Writes need to know which.
#include <algorithm>
#include <array>
#include <string_view>

#include "ir/open_strides.h"
#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

template <std::size_t n>
bool is_one_of(const ir::Node& node, const std::array<std::string_view, n>& names) {
  return std::find(names.begin(), names.end(), node.op()) != names.end();
}

// New memory in the order of the sizes, whatever the arguments.
constexpr auto ordered = std::to_array<std::string_view>({"aten::arange", "aten::bmm", "aten::contiguous", "aten::embedding",
                                                          "aten::empty", "aten::eye", "aten::full", "aten::linspace", "aten::mm",
                                                          "aten::ones", "aten::rand", "aten::randn", "aten::zeros"});
// In the order in which their arguments lie: that of the sizes if all lie so. Views of the same elements, too.
constexpr auto follow = std::to_array<std::string_view>(
    {"aten::abs",        "aten::add",       "aten::clamp",     "aten::clone",     "aten::cos",       "aten::div",
     "aten::empty_like", "aten::exp",       "aten::flatten",   "aten::full_like", "aten::gelu",      "aten::log",
     "aten::mul",        "aten::neg",       "aten::ones_like", "aten::pow",       "aten::relu",      "aten::reshape",
     "aten::rsub",       "aten::sigmoid",   "aten::sin",       "aten::softmax",   "aten::sqrt",      "aten::sub",
     "aten::tanh",       "aten::unsqueeze", "aten::view",      "aten::where",     "aten::zeros_like"});
constexpr int deepest = 200;

// No other order is asked for: memory_format is absent, contiguous_format (0) or preserve_format (1).
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
  if (is_one_of(*maker, ordered)) return true;
  if (!is_one_of(*maker, follow)) return false;
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

// Tracing writes `x * 2.5` with a tensor constant. Before libtorch's executor computes anything, it turns such operands of
// these operators back into numbers (CanonicalizeOps), and so does this pass. Numbers and tensors promote differently.
#include <algorithm>
#include <array>
#include <complex>

#include "ir/tensor_literal.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

constexpr auto arithmetic = std::to_array<std::string_view>({"aten::add", "aten::sub", "aten::mul", "aten::div"});

bool takes_numbers(const ir::Node& node) {
  return std::ranges::find(arithmetic, node.op()) != arithmetic.end() && node.schema() && node.overload() == "Tensor";
}

std::optional<ir::Constant> number_in(const ir::Constant* constant) {
  const auto* tensor = constant ? constant->get<ir::TensorView>() : nullptr;
  if (!tensor || !tensor->sizes.empty() || ir::is_quantized(tensor->dtype)) return std::nullopt;
  const auto elements = ir::elements_of(*tensor);
  if (!elements || elements->size() != 1) return std::nullopt;
  const ir::Element element = elements->front();
  if (tensor->dtype == ir::DType::boolean) return ir::Constant{element.real() != 0};
  if (ir::is_complex(tensor->dtype))
    return ir::Constant{std::complex<double>(static_cast<double>(element.real()), static_cast<double>(element.imag()))};
  if (ir::is_floating(tensor->dtype)) return ir::Constant{static_cast<double>(element.real())};
  if (tensor->dtype == ir::DType::u64) return std::nullopt;
  return ir::Constant{static_cast<std::int64_t>(element.real())};
}

}  // namespace

std::size_t numbers_as_operands(ir::Graph& graph, const ir::Watch& watch) {
  std::size_t changed = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!takes_numbers(*node)) continue;
    const ir::Value* other = node->input(1);
    auto number = number_in(ir::constant_of(other));
    if (!number || other->producer()->attribute("path")) continue;  // an attribute of the model stays a tensor
    node->replace_input(1, constant_before(node, std::move(*number)));
    ++changed;
  }
  return changed;
}

}  // namespace compatcheck::passes

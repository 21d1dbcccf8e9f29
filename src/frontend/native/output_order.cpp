#include "frontend/native/output_order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "ir/control_flow.h"
#include "ir/order.h"

namespace compatcheck::frontend::native {
namespace {

class OutputOrder {
 public:
  explicit OutputOrder(const ir::Graph& graph) : order_(graph) {}

  void block(const ir::Block& block) {
    for (ir::Node* node : block) {
      const bool loop = node->is("prim::Loop");
      if (loop || node->is("prim::If")) permute(*node, loop, by_first_use(node->outputs()));
      for (const ir::Block* inner : node->blocks()) this->block(*inner);
    }
  }

 private:
  // Unused ones come last.
  std::vector<std::size_t> by_first_use(std::span<ir::Value* const> values) const {
    using Place = std::pair<std::size_t, std::size_t>;
    std::vector<Place> first(values.size(), Place(std::numeric_limits<std::size_t>::max(), 0));
    for (std::size_t i = 0; i < values.size(); ++i)
      for (const ir::Use& use : values[i]->uses()) first[i] = std::min(first[i], Place(order_.of(use.user).value(), use.operand));
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return first[i]; });
    return order;
  }

  static void permute(ir::Node& node, bool loop, const std::vector<std::size_t>& order) {
    if (std::ranges::is_sorted(order)) return;
    node.permute_outputs(0, order);
    for (ir::Block* block : node.blocks()) block->return_node()->permute_inputs(loop ? ir::LoopView::first_next_value : 0, order);
    if (!loop) return;
    node.permute_inputs(ir::LoopView::first_initial_value, order);
    ir::LoopView(node).body().permute_inputs(ir::LoopView::first_parameter, order);
  }

  ir::Order order_;
};

}  // namespace

void order_outputs(ir::Graph& graph) { OutputOrder(graph).block(*graph.top()); }

}  // namespace compatcheck::frontend::native

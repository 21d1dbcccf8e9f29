#include "conversion/settle_copies.h"

#include "passes/effects.h"
#include "passes/rewrite.h"
#include "schema/schema.h"

namespace compatcheck::conversion {
namespace {

bool is_none(const ir::Value* value) {
  const ir::Constant* constant = ir::constant_of(value);
  return constant && constant->is_none();
}

bool settle(ir::Node* node, const symbolic::FactTable& facts) {
  if (!node->is("aten::to") || !node->schema() || node->schema()->overload != "dtype" || node->inputs().size() != 5) return false;
  ir::Value *self = node->input(0), *copy = node->input(3);
  const auto* wanted = passes::known<std::int64_t>(node->input(1));
  const auto* copies = passes::known<bool>(copy);
  const auto* tensor = facts.of(self).tensor();
  if (!wanted || !copies || *copies || !tensor || !tensor->dtype) return false;
  if (static_cast<std::int64_t>(*tensor->dtype) != *wanted) {
    node->replace_input(3, passes::constant_before(node, {true}));
    return true;
  }
  if (!is_none(node->input(4))) return false;  // another order in memory is a copy, too
  passes::replace(node->output(), self);
  node->erase();
  return true;
}

}  // namespace

std::size_t settle_copies(ir::Graph& graph, const symbolic::FactTable& facts, const ir::Watch& watch) {
  if (!passes::writes_anything(*graph.top())) return 0;
  std::size_t settled = 0;
  for (ir::Node* node : passes::all_nodes(graph, watch)) settled += settle(node, facts) ? 1 : 0;
  return settled;
}

}  // namespace compatcheck::conversion

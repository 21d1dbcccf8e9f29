#include "analysis/loop_counts.h"

#include <unordered_set>
#include <vector>

#include "ir/control_flow.h"
#include "symbolic/evaluate.h"

namespace compatcheck::analysis {
namespace {

constexpr std::size_t most_values_looked_at = 400;  // values on the way back from one loop

bool may_count(const ir::Value& value) {
  const ir::TypeRef& type = ir::without_optional(value.type());
  return ir::is(type, ir::TypeKind::integer) || ir::is(type, ir::TypeKind::boolean) || ir::is(type, ir::TypeKind::list);
}

// On the way back from the number of iterations and from the condition. A size that has a name ends the way.
void add_counts_of(const ir::LoopView& loop, const symbolic::FactTable& facts, LoopCounts& counts) {
  std::vector<const ir::Value*> waiting{loop.trip_count(), loop.condition(), loop.next_condition()};
  std::unordered_set<const ir::Value*> seen;
  for (std::size_t at = 0; at < waiting.size() && seen.size() < most_values_looked_at; ++at) {
    const ir::Value* value = waiting[at];
    if (!may_count(*value) || !seen.insert(value).second) continue;
    if (const auto* number = facts.of(value).number(); number && number->integer)
      for (const std::string& name : symbolic::names_in(*number->integer)) counts.sizes.insert(name);
    if (const ir::Node* producer = value->producer())
      waiting.insert(waiting.end(), producer->inputs().begin(), producer->inputs().end());
    else if (value->block() == loop.body().graph()->top())
      counts.inputs.insert(value);
  }
}

}  // namespace

LoopCounts loop_counts(const ir::Graph& graph, const symbolic::FactTable& facts) {
  LoopCounts counts;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    if (node->is("prim::Loop") && node->inputs().size() > 1) add_counts_of(ir::LoopView(*node), facts, counts);
  });
  return counts;
}

}  // namespace compatcheck::analysis

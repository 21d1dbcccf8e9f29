// An attribute that a call has set holds that tensor until it is set again, whatever is written to the tensor.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/order.h"
#include "passes/alias.h"
#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

struct Accesses {
  std::vector<ir::Node*> sets, reads;  // in program order
};

// `self.count += 1` sets the attribute to the tensor that it holds.
const ir::Node* read_back(const ir::Node& set) {
  const ir::Value* value = set.input(1);
  while (value->producer() && value->producer()->op().ends_with('_') && value->producer()->outputs().size() == 1) {
    const auto written = written_operands(*value->producer());
    if (!value->producer()->op().starts_with("aten::") || written.size() != 1 || written[0] != 0) return nullptr;
    value = value->producer()->input(0);
  }
  const ir::Node* read = value->producer();
  return read && read->is("prim::GetAttr") && read->owner() == set.owner() ? read : nullptr;
}

std::map<ObjectAttribute, Accesses> accesses_of(const ir::Graph& graph, const ir::Watch& watch) {
  std::map<ObjectAttribute, Accesses> accesses;
  std::set<std::string_view> of_unknown_objects;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!is_attribute_access(*node)) continue;
    const auto* object = known<ir::ObjectConstant>(node->input(0));
    if (!object) {
      of_unknown_objects.insert(attribute_name(*node));
      continue;
    }
    Accesses& of = accesses[{object->object, attribute_name(*node)}];
    (node->is("prim::SetAttr") ? of.sets : of.reads).push_back(node);
  }
  std::erase_if(accesses,
                [&](const auto& entry) { return entry.second.sets.empty() || of_unknown_objects.contains(entry.first.second); });
  return accesses;
}

std::size_t drop_idle_sets(Accesses& of, const ir::Order& order) {
  const auto is_idle = [&](ir::Node* set) {
    const ir::Node* read = read_back(*set);
    if (!read || std::ranges::find(of.reads, read) == of.reads.end()) return false;
    return std::ranges::none_of(of.sets, [&](const ir::Node* other) {
      return other != set && order.of(read) < order.of(other) && order.of(other) < order.of(set);
    });
  };
  std::vector<ir::Node*> idle;
  std::ranges::copy_if(of.sets, std::back_inserter(idle), is_idle);
  for (ir::Node* set : idle) {
    std::erase(of.sets, set);
    set->erase();
  }
  return idle.size();
}

}  // namespace

std::size_t forward_attributes(ir::Graph& graph, const ir::Watch& watch) {
  auto accesses = accesses_of(graph, watch);
  if (accesses.empty()) return 0;
  const ir::Order order(graph);
  std::size_t changed = 0;
  for (auto& [attribute, of] : accesses) {
    changed += drop_idle_sets(of, order);
    // Not every call comes by a set in a branch or loop.
    if (std::ranges::any_of(of.sets, [&](const ir::Node* set) { return set->owner() != graph.top(); })) continue;
    for (ir::Node* read : of.reads) {
      const ir::Node* last = nullptr;
      for (const ir::Node* set : of.sets)
        if (order.of(set) < order.of(read)) last = set;
      if (!last || !is_tensor(last->input(1)) || !is_tensor(read->output())) continue;
      replace(read->output(), last->input(1));
      read->erase();
      ++changed;
    }
  }
  return changed;
}

}  // namespace compatcheck::passes

// An attribute that a call has set holds that tensor until it is set again, whatever is written to the tensor.
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/alias.h"
#include "passes/effects.h"
#include "passes/order.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

struct Accesses {
  std::vector<ir::Node*> sets, reads;  // in order
  bool hidden = false;                 // set where not every call comes by
};

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
    if (node->is("prim::SetAttr") && node->owner() != graph.top()) of.hidden = true;
  }
  std::erase_if(accesses, [&](const auto& entry) {
    return entry.second.hidden || entry.second.sets.empty() || of_unknown_objects.contains(entry.first.second);
  });
  return accesses;
}

}  // namespace

std::size_t forward_attributes(ir::Graph& graph, const ir::Watch& watch) {
  const auto accesses = accesses_of(graph, watch);
  if (accesses.empty()) return 0;
  const Order order(graph);
  std::size_t changed = 0;
  for (const auto& [attribute, of] : accesses)
    for (ir::Node* read : of.reads) {
      const ir::Node* last = nullptr;
      for (const ir::Node* set : of.sets)
        if (order.of(set) < order.of(read)) last = set;
      if (!last || !is_tensor(last->input(1)) || !is_tensor(read->output())) continue;
      replace(read->output(), last->input(1));
      read->erase();
      ++changed;
    }
  return changed;
}

}  // namespace compatcheck::passes

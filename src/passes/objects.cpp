#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// The object is only read and written attribute by attribute, and written in the block that makes it alone, so that
// the order of nodes tells what each read gets.
bool stays_local(const ir::Node& create) {
  const auto uses = create.output()->uses();
  return std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
    if (use.operand != 0) return false;
    if (use.user->is("prim::GetAttr")) return true;
    return use.user->is("prim::SetAttr") && use.user->owner() == create.owner();
  });
}

}  // namespace

std::size_t dissolve_objects(ir::Graph& graph, const ir::Watch& watch) {
  std::unordered_map<const ir::Value*, std::map<std::string_view, ir::Value*>> objects;
  std::vector<ir::Node*> creations;
  const Nodes nodes = all_nodes(graph, watch);
  for (ir::Node* node : nodes) {
    if (!node->is("prim::CreateObject") || !stays_local(*node)) continue;
    objects[node->output()];
    creations.push_back(node);
  }
  if (objects.empty()) return 0;
  for (ir::Node* node : nodes) {
    const bool reads = node->is("prim::GetAttr");
    if (!reads && !node->is("prim::SetAttr")) continue;
    const auto object = objects.find(node->input(0));
    if (object == objects.end()) continue;
    if (!reads) {
      object->second[attribute_name(*node)] = node->input(1);
    } else if (const auto value = object->second.find(attribute_name(*node)); value != object->second.end()) {
      node->output()->replace_all_uses_with(value->second);
      node->erase();
    }
  }
  std::size_t dissolved = 0;
  for (ir::Node* create : creations) {
    std::vector<ir::Node*> users;
    for (const ir::Use& use : create->output()->uses()) users.push_back(use.user);
    // A read of what was never written stays, and the object with it.
    if (std::any_of(users.begin(), users.end(), [](const ir::Node* user) { return user->is("prim::GetAttr"); })) continue;
    for (ir::Node* user : users) user->erase();
    create->erase();
    ++dissolved;
  }
  return dissolved;
}

}  // namespace compatcheck::passes

#include <algorithm>
#include <string>
#include <unordered_map>

#include "passes/alias.h"
#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

class Merger {
 public:
  Merger(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch)
      : aliases_(Aliases::of(graph, program, watch)), watch_(watch) {}

  // `known` holds what the blocks around have computed before.
  std::size_t run(ir::Block& block) {
    std::vector<std::string> added;
    std::size_t merged = 0;
    for (ir::Node* node : block) {
      watch_.step();
      if (!node->blocks().empty()) {
        for (ir::Block* inner : node->blocks()) merged += run(*inner);
        continue;
      }
      if (!computes_only(*node)) continue;
      std::string key = describe(*node);
      const auto [at, fresh] = known_.try_emplace(key, node);
      if (fresh) {
        added.push_back(std::move(key));
      } else if (same_types(*at->second, *node)) {
        for (std::size_t i = 0; i < node->outputs().size(); ++i) replace(node->output(i), at->second->output(i));
        node->erase();
        ++merged;
      }
    }
    for (const std::string& key : added) known_.erase(key);
    return merged;
  }

 private:
  bool computes_only(const ir::Node& node) const {
    if (node.outputs().empty() || node.is("prim::Constant") || node.is("prim::CreateObject") || node.is("prim::Uninitialized") ||
        has_effect(node) || writes(node) || is_random(node))
      return false;
    if (!node.schema() && !node.op().starts_with("prim::")) return false;
    if (!aliases_->any_writes()) return true;
    auto touched = [&](const ir::Value* value) { return aliases_->reach_written(value); };
    return std::none_of(node.inputs().begin(), node.inputs().end(), touched) &&
           std::none_of(node.outputs().begin(), node.outputs().end(), touched);
  }

  static std::string describe(const ir::Node& node) {
    std::string key = node.op();
    key += '.';
    key += node.overload();
    for (const ir::Value* input : node.inputs()) key.append(1, ' ').append(std::to_string(input->id()));
    for (const ir::Attribute& attribute : node.attributes()) {
      key.append(1, ' ').append(attribute.name).append(1, '=');
      describe(attribute.value, key);
    }
    return key;
  }

  static void describe(const ir::Constant& value, std::string& key) {
    if (const auto* number = value.get<std::int64_t>())
      key += std::to_string(*number);
    else if (const auto* text = value.get<std::string>())
      key += *text;
    else if (const auto* list = value.get<ir::ListConstant>())
      for (const ir::Constant& item : list->items) describe(item, key), key += ',';
    else
      key += "@" + std::to_string(reinterpret_cast<std::uintptr_t>(&value));  // like no other
  }

  static bool same_types(const ir::Node& a, const ir::Node& b) {
    if (a.outputs().size() != b.outputs().size()) return false;
    for (std::size_t i = 0; i < a.outputs().size(); ++i)
      if (!a.output(i)->type() || !b.output(i)->type() || !ir::same_structure(*a.output(i)->type(), *b.output(i)->type()))
        return false;
    return true;
  }

  std::shared_ptr<const Aliases> aliases_;
  const ir::Watch& watch_;
  std::unordered_map<std::string, ir::Node*> known_;
};

}  // namespace

std::size_t merge_common_subexpressions(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch) {
  return Merger(graph, program, watch).run(*graph.top());
}

}  // namespace compatcheck::passes

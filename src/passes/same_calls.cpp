#include "passes/same_calls.h"

#include <algorithm>
#include <unordered_map>

#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

bool computes_the_same(const ir::Node& node) {
  if (has_effect(node) || writes(node) || is_random(node)) return false;
  for (const ir::Block* block : node.blocks())
    for (const ir::Node* inner : *block)
      if (!computes_the_same(*inner)) return false;
  return true;
}

class Comparison {
 public:
  // The nodes from `second` to the end of its block, against those from `first` to `end`.
  bool same(const ir::Node* first, const ir::Node* end, const ir::Node* second) {
    for (; second; second = second->next()) {
      if (second->is("prim::Constant")) continue;
      while (first != end && !same_node(*first, *second)) {
        if (!computes_the_same(*first)) return false;
        first = first->next();
      }
      if (first == end) return false;
      first = first->next();
    }
    for (; first != end; first = first->next())
      if (!computes_the_same(*first)) return false;
    return true;
  }

  bool same_value(const ir::Value* first, const ir::Value* second) const {
    if (first == second) return true;
    if (const auto stands = first_of_.find(second); stands != first_of_.end()) return stands->second == first;
    const ir::Constant *one = ir::constant_of(first), *other = ir::constant_of(second);
    return one && other && ir::equal(*one, *other) && ir::equal(*first->type(), *second->type());
  }

 private:
  bool same_values(std::span<ir::Value* const> first, std::span<ir::Value* const> second) const {
    return std::ranges::equal(first, second, [&](const ir::Value* a, const ir::Value* b) { return same_value(a, b); });
  }

  bool same_node(const ir::Node& first, const ir::Node& second) {
    if (first.op() != second.op() || first.overload() != second.overload() || first.outputs().size() != second.outputs().size() ||
        first.blocks().size() != second.blocks().size() || !same_values(first.inputs(), second.inputs()) ||
        !std::ranges::equal(first.attributes(), second.attributes(), [](const ir::Attribute& a, const ir::Attribute& b) {
          return a.name == b.name && ir::equal(a.value, b.value);
        }))
      return false;
    for (std::size_t i = 0; i < first.blocks().size(); ++i)
      if (!same_block(*first.blocks()[i], *second.blocks()[i])) return false;
    note(first.outputs(), second.outputs());
    return true;
  }

  bool same_block(const ir::Block& first, const ir::Block& second) {
    if (first.inputs().size() != second.inputs().size()) return false;
    note(first.inputs(), second.inputs());
    return same(first.first(), nullptr, second.first()) && same_values(first.outputs(), second.outputs());
  }

  void note(std::span<ir::Value* const> first, std::span<ir::Value* const> second) {
    for (std::size_t i = 0; i < first.size(); ++i) first_of_[second[i]] = first[i];
  }

  std::unordered_map<const ir::Value*, const ir::Value*> first_of_;  // value of the second call -> value of the first
};

}  // namespace

bool are_same_calls(ir::Graph& graph, const ir::Node& second, const ir::Watch& watch) {
  remove_unused(graph, watch);
  const auto outputs = graph.outputs();
  const std::size_t count = outputs.size() / 2;
  Comparison comparison;
  if (!comparison.same(graph.top()->first(), &second, second.next())) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (!comparison.same_value(outputs[i], outputs[count + i])) return false;
  return true;
}

}  // namespace compatcheck::passes

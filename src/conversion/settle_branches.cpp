#include "conversion/settle_branches.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/control_flow.h"
#include "passes/budget.h"
#include "passes/effects.h"
#include "passes/rewrite.h"

namespace compatcheck::conversion {
namespace {

constexpr std::size_t most_moved = 1000;  // nodes of usual size, of one If

bool differ(const symbolic::TensorFact& a, const symbolic::TensorFact& b) {
  return (a.shape && b.shape && a.shape->size() != b.shape->size()) || (a.dtype && b.dtype && *a.dtype != *b.dtype);
}

// The result has a rank and dtype that don't come from those of the first operand.
bool fixes_rank(const ir::Node& node) {
  constexpr auto shaping = std::to_array<std::string_view>({"aten::reshape", "aten::view"});
  constexpr auto measuring =
      std::to_array<std::string_view>({"aten::numel", "aten::Int", "aten::Float", "aten::Bool", "aten::item"});
  const auto among = [&](const auto& names) { return std::ranges::find(names, node.op()) != names.end(); };
  if (among(measuring) || (node.is("aten::size") && node.inputs().size() == 2)) return true;
  if (node.is("aten::__getitem__")) return node.input(0)->producer() && node.input(0)->producer()->is("aten::size");
  const bool shapes = among(shaping) && node.inputs().size() == 2 && ir::is(node.input(1)->type(), ir::TypeKind::list);
  const ir::Node* sizes = shapes ? node.input(1)->producer() : nullptr;
  return sizes && (sizes->is("prim::ListConstruct") || sizes->is("prim::Constant"));
}

class Branch {
 public:
  Branch(ir::Node* branch, const symbolic::FactTable& facts) : branch_(branch), facts_(facts) {}

  std::size_t settle() {
    for (std::size_t i = 0; i < branch_->outputs().size(); ++i)
      if (is_open(i)) open_.insert(branch_->output(i));
    if (open_.empty()) return 0;
    find_readers();
    if (readers_.empty() || cost_ > most_moved) return 0;
    close();
    move_up();
    move_in();
    return readers_.size();
  }

 private:
  bool is_open(std::size_t i) const {
    const ir::IfView branch(*branch_);
    const auto *a = facts_.of(branch.then_values()[i]).tensor(), *b = facts_.of(branch.else_values()[i]).tensor();
    return a && b && ir::is(branch_->output(i)->type(), ir::TypeKind::tensor) && !branch_->output(i)->unused() && differ(*a, *b);
  }

  // The values that a node reads, those of its blocks from outside too.
  template <class Visit>
  static void for_each_operand(const ir::Node& node, Visit&& visit) {
    for (ir::Value* input : node.inputs()) visit(input);
    for (const ir::Block* block : node.blocks()) {
      for (const ir::Node* inner : *block) for_each_operand(*inner, visit);
      for (ir::Value* output : block->outputs()) visit(output);
    }
  }

  bool reads_any(const ir::Node& node, const std::unordered_set<const ir::Value*>& values) const {
    bool reads = false;
    for_each_operand(node, [&](const ir::Value* value) { reads = reads || values.contains(value); });
    return reads;
  }

  // Finds the readers of a value of open rank, and those that pass it on.
  void find_readers() {
    std::unordered_set<const ir::Value*> depend(branch_->outputs().begin(), branch_->outputs().end());
    for (ir::Node* node = branch_->next(); node; node = node->next()) {
      later_.push_back(node);
      if (reads_any(*node, depend)) {
        dependent_.insert(node);
        depend.insert(node->outputs().begin(), node->outputs().end());
      }
      if (!reads_any(*node, open_)) continue;
      readers_.insert(node);
      cost_ += passes::cost_of(*node);
      for (const ir::Block* block : node->blocks())
        ir::for_each_node(*block, [&](const ir::Node* inner) { cost_ += passes::cost_of(*inner); });
      if (!fixes_rank(*node)) open_.insert(node->outputs().begin(), node->outputs().end());
    }
  }

  // Moves operands that depend on the If with their readers, and the other operands before the If.
  void close() {
    std::unordered_set<const ir::Value*> needed;
    for (auto node = later_.rbegin(); node != later_.rend(); ++node) {
      const bool moves = readers_.contains(*node),
                 gives =
                     std::ranges::any_of((*node)->outputs(), [&](const ir::Value* output) { return needed.contains(output); });
      if (!moves && !gives) continue;
      if (!moves && dependent_.contains(*node)) readers_.insert(*node);
      if (!readers_.contains(*node)) before_.insert(*node);
      for_each_operand(**node, [&](const ir::Value* value) { needed.insert(value); });
    }
  }

  void move_up() {
    for (ir::Node* node : later_)
      if (before_.contains(node)) node->move_before(branch_);
  }

  void move_in() {
    std::vector<ir::Node*> moved;
    for (ir::Node* node : later_)
      if (readers_.contains(node)) moved.push_back(node);
    std::array<std::unordered_map<const ir::Value*, ir::Value*>, 2> values;
    for (std::size_t way = 0; way < 2; ++way) {
      ir::Block* block = branch_->blocks()[way];
      for (std::size_t i = 0; i < branch_->outputs().size(); ++i) values[way][branch_->output(i)] = block->outputs()[i];
      for (const ir::Node* node : moved) branch_->graph()->copy_node(*node, values[way])->insert_before(block->return_node());
    }
    for (ir::Node* node : moved)
      for (ir::Value* output : node->outputs()) {
        if (std::ranges::all_of(output->uses(), [&](const ir::Use& use) {
              return readers_.contains(passes::node_in(branch_->owner(), use.user));
            }))
          continue;
        ir::Value* instead = branch_->add_output(output->type());
        for (std::size_t way = 0; way < 2; ++way) branch_->blocks()[way]->add_output(values[way].at(output));
        passes::replace(output, instead);
      }
    for (auto node = moved.rbegin(); node != moved.rend(); ++node) (*node)->erase();
  }

  ir::Node* branch_;
  const symbolic::FactTable& facts_;
  std::unordered_set<const ir::Value*> open_;
  std::vector<ir::Node*> later_;  // nodes after the If, in order
  std::unordered_set<ir::Node*> readers_, dependent_, before_;
  std::size_t cost_ = 0;
};

}  // namespace

std::size_t settle_branches(ir::Graph& graph, const symbolic::FactTable& facts, const ir::Watch& watch) {
  bool any = false;
  for (const ir::Node* node : passes::all_nodes(graph, watch)) any = any || node->is("prim::If");
  if (!any || passes::writes_anything(*graph.top())) return 0;
  for (ir::Node* node : passes::all_nodes(graph, watch))
    if (node->is("prim::If") && node->blocks().size() == 2)
      if (const std::size_t moved = Branch(node, facts).settle()) return moved;  // the facts don't cover the new nodes
  return 0;
}

}  // namespace compatcheck::conversion

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>

#include "ir/control_flow.h"
#include "passes/alias.h"
#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

// Marks what the graph's outputs need. A write is needed when the memory it goes to is: an input of the graph, which
// the caller sees, or something that a needed value leads to. An attribute that nothing needed reads may change
// without anyone noticing, in this run of the model or a later one.
class Liveness {
 public:
  Liveness(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch)
      : aliases_(Aliases::of(graph, program, watch)), values_(graph.value_limit()) {
    if (aliases_->any_writes()) index_writes(graph);
    need_returns(*graph.top());
    ir::for_each_node(*graph.top(), [&](ir::Node* node) {
      if (has_effect(*node)) need(node);
    });
    while (!pending_.empty()) {
      watch.step();
      ir::Node* node = pending_.back();
      pending_.pop_back();
      expand(node);
    }
  }

  bool needed(const ir::Node* node) const { return nodes_.contains(node); }
  bool needed(const ir::Value* value) const { return values_[value->id()]; }

 private:
  void index_writes(const ir::Graph& graph) {
    memory_needed_.resize(aliases_->location_count());
    for (ir::Node* writer : aliases_->writers()) {
      if (writer->is("prim::SetAttr"))
        setters_.emplace(attribute_name(*writer), writer);
      else if (goes_anywhere(*writer))
        need(writer);
    }
    for (ir::Value* input : graph.inputs())
      for (LocationId id : aliases_->reach(input)) need_memory(id);
  }

  bool goes_anywhere(const ir::Node& writer) const {
    const auto operands = written_operands(writer);
    return operands.empty() || std::any_of(operands.begin(), operands.end(), [&](std::size_t operand) {
             return aliases_->locations(writer.input(operand)).empty();
           });
  }

  void need(ir::Node* node) {
    if (!nodes_.insert(node).second) return;
    pending_.push_back(node);
    if (ir::Node* owner = node->owner()->owner()) need(owner);
  }

  void need_value(ir::Value* value) {
    if (values_[value->id()]) return;
    values_[value->id()] = true;
    if (aliases_->any_writes() && holds_memory(value->type()))
      for (LocationId id : aliases_->reach(value)) need_memory(id);
    if (ir::Node* producer = value->producer()) {
      need(producer);
      if (producer->is("prim::Loop")) need_carried({ir::LoopView(*producer), value->index()});
      if (producer->is("prim::If"))
        for (ir::Block* block : producer->blocks()) need_value(block->outputs()[value->index()]);
    } else if (ir::Node* owner = value->block()->owner()) {
      need(owner);
      if (const auto carried = ir::carried_by(value)) need_carried(*carried);
    }
  }

  // Setters of the program's objects are needed by name, below: everything of the model hangs on those objects.
  void need_memory(LocationId id) {
    if (memory_needed_[id]) return;
    memory_needed_[id] = true;
    const bool object = aliases_->location(id).kind == MemoryLocation::Kind::object;
    for (ir::Node* writer : aliases_->writers_of(id))
      if (!object || !writer->is("prim::SetAttr")) need(writer);
  }

  void need_carried(const ir::Carried& carried) {
    need_value(carried.initial_value());
    need_value(carried.parameter());
    need_value(carried.next_value());
    need_value(carried.result());
  }

  void need_returns(const ir::Block& block) {
    for (ir::Value* output : block.outputs()) need_value(output);
  }

  void expand(ir::Node* node) {
    if (node->is("prim::Loop")) {  // iterations and condition; carried values each for itself
      const ir::LoopView loop(*node);
      need_value(loop.trip_count());
      need_value(loop.condition());
      need_value(loop.next_condition());
      return;
    }
    for (ir::Value* input : node->inputs()) need_value(input);
    if (!node->is("prim::If"))
      for (ir::Block* block : node->blocks()) need_returns(*block);
    if (!node->is("prim::GetAttr")) return;
    const auto [from, to] = setters_.equal_range(attribute_name(*node));
    for (auto at = from; at != to; ++at) need(at->second);
  }

  std::shared_ptr<const Aliases> aliases_;
  std::vector<bool> values_;  // indexed by value id
  std::unordered_set<const ir::Node*> nodes_;
  std::vector<bool> memory_needed_;  // indexed by location
  std::multimap<std::string_view, ir::Node*> setters_;
  std::vector<ir::Node*> pending_;
};

std::size_t sweep(ir::Block& block, const Liveness& live);

// Outputs of an If or Loop that nobody needs, and what the blocks return for them.
std::size_t sweep_results(ir::Node* node, const Liveness& live) {
  const bool loop = node->is("prim::Loop");
  std::vector<std::size_t> unneeded;  // the last one first
  for (std::size_t i = node->outputs().size(); i-- > 0 && (loop || node->is("prim::If"));)
    if (!live.needed(node->output(i))) unneeded.push_back(i);
  for (const std::size_t i : unneeded)
    for (ir::Block* block : node->blocks()) ir::erase_returned_result(*block, i);
  std::size_t removed = 0;
  for (ir::Block* block : node->blocks()) removed += sweep(*block, live);
  for (const std::size_t i : unneeded) {
    if (loop) {
      ir::LoopView(*node).erase_parameter(i);
      ir::LoopView(*node).erase_initial_value(i);
    }
    node->erase_output(i);
  }
  return removed;
}

std::size_t sweep(ir::Block& block, const Liveness& live) {
  std::size_t removed = 0;
  for (ir::Node* node = block.last(); node;) {
    ir::Node* previous = node->previous();
    if (live.needed(node)) {
      removed += sweep_results(node, live);
    } else {
      removed += !node->is("prim::Constant");
      node->erase();
    }
    node = previous;
  }
  return removed;
}

bool only_computes(const ir::Node& node) {
  if (has_effect(node) || writes(node)) return false;
  for (const ir::Block* block : node.blocks())
    for (const ir::Node* inner : *block)
      if (!only_computes(*inner)) return false;
  return true;
}

std::size_t remove_unused_of(ir::Block& block, const ir::Watch& watch) {
  std::size_t removed = 0;
  for (ir::Node* node = block.last(); node;) {
    watch.step();
    ir::Node* previous = node->previous();
    for (ir::Block* inner : node->blocks()) removed += remove_unused_of(*inner, watch);
    const auto outputs = node->outputs();
    const bool used = std::any_of(outputs.begin(), outputs.end(), [](const ir::Value* output) { return !output->unused(); });
    if (!used && only_computes(*node)) {
      node->erase();
      ++removed;
    }
    node = previous;
  }
  return removed;
}

}  // namespace

std::size_t remove_unused(ir::Graph& graph, const ir::Watch& watch) { return remove_unused_of(*graph.top(), watch); }

std::size_t remove_dead_code(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch) {
  const Liveness live(graph, program, watch);
  return sweep(*graph.top(), live);
}

}  // namespace compatcheck::passes

// prim::If and prim::Loop by the names of their parts. Views trust the node: arity_fault() says whether it has these parts.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace compatcheck::ir {

// If(condition): result i is what the block that runs returns in place i.
class IfView {
 public:
  explicit IfView(const Node& node) : node_(node) {}

  Value* condition() const { return node_.input(0); }
  Block& then_block() const { return *node_.blocks()[0]; }
  Block& else_block() const { return *node_.blocks()[1]; }
  Block& block_if(bool condition) const { return condition ? then_block() : else_block(); }
  std::span<Value* const> then_values() const { return then_block().outputs(); }
  std::span<Value* const> else_values() const { return else_block().outputs(); }

 private:
  const Node& node_;
};

// Loop(trip count, condition, carried…): the body gets the iteration's number and the carried values, and returns the condition
// and the carried values of the next iteration. The lists below have the same order.
class LoopView {
 public:
  static constexpr std::size_t first_initial_value = 2, first_parameter = 1, first_next_value = 1;  // among inputs and outputs

  explicit LoopView(const Node& node) : node_(&node) {}

  Value* trip_count() const { return node_->input(0); }
  Value* condition() const { return node_->input(1); }
  std::span<Value* const> initial_values() const { return node_->inputs().subspan(first_initial_value); }
  Block& body() const { return *node_->blocks()[0]; }
  Value* iteration() const { return body().inputs()[0]; }
  std::span<Value* const> parameters() const { return body().inputs().subspan(first_parameter); }
  Value* next_condition() const { return body().outputs()[0]; }
  std::span<Value* const> next_values() const { return body().outputs().subspan(first_next_value); }
  std::span<Value* const> results() const { return node_->outputs(); }

  void set_trip_count(Value* value) const { node().replace_input(0, value); }
  void set_initial_value(std::size_t i, Value* value) const { node().replace_input(first_initial_value + i, value); }
  void set_next_condition(Value* value) const { body().return_node()->replace_input(0, value); }
  void set_next_value(std::size_t i, Value* value) const { body().return_node()->replace_input(first_next_value + i, value); }
  void erase_initial_value(std::size_t i) const { node().erase_input(first_initial_value + i); }
  void erase_parameter(std::size_t i) const { body().erase_input(first_parameter + i); }  // must be unused
  void erase_next_value(std::size_t i) const { body().erase_output(first_next_value + i); }

 private:
  Node& node() const { return *body().owner(); }
  const Node* node_;
};

// The Loop of whose body the value is an input; null if there is none.
inline const Node* loop_entered_by(const Value* value) {
  const Node* owner = value->producer() || !value->block() ? nullptr : value->block()->owner();
  return owner && owner->is("prim::Loop") ? owner : nullptr;
}

inline bool is_iteration(const Value* value) { return loop_entered_by(value) && value->index() == 0; }

// One of the values that a Loop carries.
struct Carried {
  LoopView loop;
  std::size_t place;

  Value* initial_value() const { return loop.initial_values()[place]; }
  Value* parameter() const { return loop.parameters()[place]; }
  Value* next_value() const { return loop.next_values()[place]; }
  Value* result() const { return loop.results()[place]; }
};

// The carried value that an input of a Loop's body is.
inline std::optional<Carried> carried_by(const Value* parameter) {
  const Node* loop = loop_entered_by(parameter);
  return loop && parameter->index() > 0 ? std::optional<Carried>({LoopView(*loop), parameter->index() - 1}) : std::nullopt;
}

// Values that a block returns for the results of its If or Loop; a Loop's body returns its condition, too.
inline std::span<Value* const> returned_results(const Block& block) {
  return block.owner()->is("prim::Loop") ? LoopView(*block.owner()).next_values() : block.outputs();
}

// The result of an If or Loop for which a block returns the value; null: the use is another one, or gives a Loop's condition.
inline Value* returned_as(const Use& use) {
  const Block* block = use.user->owner();
  const Node* node = block && block->return_node() == use.user ? block->owner() : nullptr;
  const std::size_t first = node && node->is("prim::Loop") ? LoopView::first_next_value : 0;
  return node && use.operand >= first && use.operand - first < node->outputs().size() ? node->output(use.operand - first)
                                                                                      : nullptr;
}

inline void erase_returned_result(Block& block, std::size_t i) {
  block.erase_output(block.owner()->is("prim::Loop") ? LoopView::first_next_value + i : i);
}

}  // namespace compatcheck::ir

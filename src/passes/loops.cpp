#include "passes/loops.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "ir/control_flow.h"
#include "passes/effects.h"
#include "passes/evaluate.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/stack_in_loops.h"

namespace compatcheck::passes {
namespace {

constexpr std::int64_t short_loop = 32;  // unrolled whatever it does

bool never_runs(const ir::LoopView& loop) {
  const auto* iterations = known<std::int64_t>(loop.trip_count());
  const auto* start = known<bool>(loop.condition());
  return (iterations && *iterations <= 0) || (start && !*start);
}

// How often the body runs, where that is sure.
std::optional<std::int64_t> iterations_of(const ir::LoopView& loop) {
  const auto* iterations = known<std::int64_t>(loop.trip_count());
  const auto* start = known<bool>(loop.condition());
  const auto* again = known<bool>(loop.next_condition());
  if (!iterations || !start || !again || !*start) return std::nullopt;
  return *again ? *iterations : 1;
}

// At least 1.
std::size_t cost_of_copy(const ir::Block& block) {
  std::size_t cost = 0;
  ir::for_each_node(block, [&](const ir::Node* node) { cost += cost_of(*node); });
  return std::max<std::size_t>(1, cost);
}

// The index picks an item: of a list, a tensor's dimension, a module list.
bool index_picks_items(const ir::LoopView& loop) {
  constexpr auto picking = std::to_array<std::string_view>(
      {"aten::__getitem__", "aten::_set_item", "aten::select", "aten::__derive_index", "prim::ModuleContainerIndex"});
  const auto uses = loop.iteration()->uses();
  return std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
    return std::find(picking.begin(), picking.end(), use.user->op()) != picking.end();
  });
}

// A list or dict is filled in the body, or carried through it and made longer: apart, its items become known.
bool fills_container(const ir::LoopView& loop) {
  const auto carried = loop.next_values();
  bool fills = std::any_of(carried.begin(), carried.end(),
                           [](const ir::Value* value) { return ir::is(value->type(), ir::TypeKind::list); });
  ir::for_each_node(loop.body(), [&](const ir::Node* node) {
    for (std::size_t operand : written_operands(*node)) {
      const auto& type = node->input(operand)->type();
      fills = fills || ir::is(type, ir::TypeKind::list) || ir::is(type, ir::TypeKind::dict);
    }
  });
  return fills;
}

bool worth_unrolling(const ir::LoopView& loop, std::int64_t iterations) {
  return iterations <= short_loop || index_picks_items(loop) || fills_container(loop);
}

void unroll(ir::Node* node, std::int64_t iterations, const CopiedBody& copied) {
  ir::Graph& graph = *node->graph();
  const ir::LoopView loop(*node);
  std::vector<ir::Value*> carried(loop.initial_values().begin(), loop.initial_values().end());
  const bool indexed = !loop.iteration()->unused();
  for (std::int64_t iteration = 0; iteration < iterations; ++iteration) {
    std::vector<ir::Value*> inputs{indexed ? constant_before(node, {iteration}) : loop.trip_count()};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    ir::Node* before = node->previous();
    const auto outputs = graph.copy_block_contents(loop.body(), inputs, node->owner(), node);
    if (copied) copied(before ? before->next() : node->owner()->first());
    carried.assign(outputs.begin() + 1, outputs.end());
  }
  for (std::size_t i = 0; i < carried.size(); ++i) replace(node->output(i), carried[i]);
  node->erase();
}

// The number of iterations of a loop that counts from a constant up to another one, such as `i = 0; while i < 3: …; i += 1`, or a
// `for` loop with `continue` in its body, which TorchScript turns into such a loop.
std::optional<std::int64_t> iterations_by_counter(const ir::LoopView& loop) {
  const ir::Block& body = loop.body();
  const ir::Node* again = loop.next_condition()->producer();
  const bool* start = known<bool>(loop.condition());
  if (!again || !start || !*start || again->owner() != &body || !again->is("aten::lt") || again->inputs().size() != 2)
    return std::nullopt;
  const ir::Node* sum = again->input(0)->producer();
  const auto* limit = known<std::int64_t>(again->input(1));
  if (!limit || !sum || !sum->is("aten::add") || sum->inputs().size() != 2 || sum->owner() != &body) return std::nullopt;
  const auto* step = known<std::int64_t>(sum->input(1));
  const ir::Value* count = sum->input(0);
  const auto carried = ir::carried_by(count);
  if (!step || *step <= 0 || !carried || count->block() != &body) return std::nullopt;
  const auto* first = known<std::int64_t>(carried->initial_value());
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (!first || carried->next_value() != sum->output() || std::max({std::abs(*first), std::abs(*limit), *step}) > most)
    return std::nullopt;
  return std::max<std::int64_t>(1, (*limit - *first + *step - 1) / *step);
}

// Runs a loop on what is known before it, as far as its condition follows from that.
class KnownIterations {
 public:
  explicit KnownIterations(const ir::LoopView& loop) : loop_(loop) {}

  // Nothing where the condition isn't known after some iteration.
  std::optional<std::int64_t> count() {
    const bool* start = known<bool>(loop_.condition());
    const auto* most = known<std::int64_t>(loop_.trip_count());
    const auto parameters = loop_.parameters();
    if (!start || !*start || !most || ir::constant_of(loop_.next_condition())) return std::nullopt;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (const ir::Constant* first = ir::constant_of(loop_.initial_values()[i])) values_[parameters[i]] = *first;
    if (writes_list(loop_.body())) return std::nullopt;  // the list's contents in later iterations aren't known
    for (std::int64_t iteration = 0; iteration < *most; ++iteration) {
      if (steps_left_ == 0) return std::nullopt;
      --steps_left_;
      values_[loop_.iteration()] = {iteration};
      if (!run(loop_.body())) return std::nullopt;
      const ir::Constant* again = value_of(loop_.next_condition());
      const bool* goes_on = again ? again->get<bool>() : nullptr;
      if (!goes_on) return std::nullopt;
      if (!*goes_on) return iteration + 1;
      std::vector<std::optional<ir::Constant>> carried;
      for (const ir::Value* value : loop_.next_values()) carried.push_back(copy_of(value));
      for (std::size_t i = 0; i < carried.size(); ++i) set(parameters[i], std::move(carried[i]));
    }
    return *most;
  }

 private:
  static bool writes_list(const ir::Block& block) {
    bool any = false;
    ir::for_each_node(block, [&](const ir::Node* node) {
      for (const std::size_t operand : written_operands(*node))
        any = any || !ir::is(node->input(operand)->type(), ir::TypeKind::tensor);
    });
    return any;
  }

  const ir::Constant* value_of(const ir::Value* value) const {
    const auto found = values_.find(value);
    return found == values_.end() ? ir::constant_of(value) : &found->second;
  }
  std::optional<ir::Constant> copy_of(const ir::Value* value) const {
    const ir::Constant* constant = value_of(value);
    return constant ? std::optional(*constant) : std::nullopt;
  }
  void set(const ir::Value* value, std::optional<ir::Constant> constant) {
    values_.erase(value);
    if (!constant) return;
    steps_left_ -= std::min(steps_left_, ir::footprint(*constant) / 64);
    values_.emplace(value, *std::move(constant));
  }

  // Evaluates the nodes that it can; false when that takes too long.
  bool run(const ir::Block& block) {
    for (const ir::Node* node : block) {
      if (steps_left_ == 0) return false;
      --steps_left_;
      for (const ir::Value* output : node->outputs()) values_.erase(output);
      if (node->is("prim::If") ? !run_branch(*node) : (evaluate_node(*node), false)) return false;
    }
    return true;
  }

  bool run_branch(const ir::Node& node) {
    const ir::IfView branch(node);
    const ir::Constant* condition = value_of(branch.condition());
    const bool* holds = condition ? condition->get<bool>() : nullptr;
    if (!holds) return true;
    const ir::Block& way = branch.block_if(*holds);
    if (!run(way)) return false;
    for (std::size_t i = 0; i < node.outputs().size(); ++i) set(node.output(i), copy_of(way.outputs()[i]));
    return true;
  }

  void evaluate_node(const ir::Node& node) {
    if (node.outputs().size() != 1 || !can_evaluate(node)) return;
    std::vector<const ir::Constant*> arguments;
    for (const ir::Value* input : node.inputs()) {
      arguments.push_back(value_of(input));
      if (!arguments.back()) return;
    }
    set(node.output(), evaluate(node, arguments));
  }

  const ir::LoopView loop_;
  std::unordered_map<const ir::Value*, ir::Constant> values_;
  std::size_t steps_left_ = 5'000;
};

// Gives loops with a known number of iterations this number and a condition that is always true.
std::size_t settle_iterations(ir::Node* node) {
  const ir::LoopView loop(*node);
  auto iterations = iterations_by_counter(loop);
  if (!iterations) iterations = KnownIterations(loop).count();
  const auto* most = known<std::int64_t>(loop.trip_count());
  if (!iterations || !most) return 0;
  loop.set_trip_count(constant_before(node, {std::min(*iterations, *most)}));
  loop.set_next_condition(constant_before(node, {true}));
  return 1;
}

// PyTorch refuses an empty list.
bool demands_items(const ir::Use& use) { return use.operand == 0 && (use.user->is("aten::cat") || use.user->is("aten::stack")); }

// Replaces results of a loop that certainly runs at least once: by a value from outside that each iteration returns, or by a
// value that is no Optional any more.
std::size_t settle_results(ir::Node* loop) {
  std::size_t settled = 0;
  for (std::size_t i = 0; i < loop->outputs().size(); ++i) {
    ir::Value *result = loop->output(i), *last = ir::LoopView(*loop).next_values()[i];
    if (result->unused() || is_stacked(*loop, i)) continue;
    if (available_in(last, loop->owner())) {
      replace(result, last);
      ++settled;
    } else if (ir::is(result->type(), ir::TypeKind::optional) && !ir::is(last->type(), ir::TypeKind::optional) &&
               ir::equal(*ir::without_optional(result->type()), *last->type()) &&
               std::ranges::any_of(result->uses(), [](const ir::Use& use) { return !use.user->is("prim::unchecked_cast"); })) {
      const std::vector<ir::Use> uses(result->uses().begin(), result->uses().end());
      ir::Node* place = loop->next() ? loop->next() : loop->owner()->return_node();
      ir::Value* there = node_before(place, "prim::unchecked_cast", {&result, 1}, {&last->type(), 1})->output();
      for (const ir::Use& use : uses) use.user->replace_input(use.operand, there);
      ++settled;
    }
  }
  return settled;
}

// Carried values that the body hands on as they came are the values from before the loop.
std::size_t drop_unchanged(ir::Node* node) {
  std::size_t dropped = 0;
  const ir::LoopView loop(*node);
  for (std::size_t i = loop.results().size(); i-- > 0;) {
    ir::Value *before = loop.initial_values()[i], *inside = loop.parameters()[i], *after = loop.next_values()[i];
    if (after != inside && after != before) continue;
    inside->replace_all_uses_with(before);
    node->output(i)->replace_all_uses_with(before);
    loop.erase_next_value(i);
    loop.erase_parameter(i);
    node->erase_output(i);
    loop.erase_initial_value(i);
    ++dropped;
  }
  return dropped;
}

}  // namespace

namespace {

// Nothing can write to the list under any of its names: it is only read, and joined with others to a new list.
bool is_only_read(const ir::Value* list, const ir::Node* loop) {
  constexpr auto readers = std::to_array<std::string_view>({"aten::add", "aten::len", "aten::cat", "aten::stack"});
  return std::ranges::all_of(list->uses(), [&](const ir::Use& use) {
    const bool goes_on = use.user == loop || use.user == ir::LoopView(*loop).body().return_node();
    return goes_on || std::ranges::find(readers, use.user->op()) != readers.end();
  });
}

bool only_grows(const ir::Node& node, std::size_t i) {
  const ir::LoopView loop(node);
  return is_only_read(loop.initial_values()[i], &node) && is_only_read(loop.parameters()[i], &node) &&
         is_only_read(loop.next_values()[i], &node) && is_only_read(node.output(i), &node);
}

}  // namespace

bool runs_at_least_once(const ir::Node& node) {
  const ir::LoopView loop(node);
  const auto* iterations = known<std::int64_t>(loop.trip_count());
  const auto* start = known<bool>(loop.condition());
  if (iterations && *iterations > 0 && start && *start) return true;
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    if (is_empty_list(loop.initial_values()[i]) && only_grows(node, i))
      for (const ir::Use& use : node.output(i)->uses())
        if (use.user->owner() == node.owner() && demands_items(use)) return true;
  return false;
}

std::size_t simplify_loops(ir::Graph& graph, const ir::Watch& watch) {
  std::size_t changed = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!node->is("prim::Loop") || node->inputs().empty()) continue;
    changed += drop_unchanged(node) + settle_iterations(node);
    if (runs_at_least_once(*node)) changed += settle_results(node);
    const ir::LoopView loop(*node);
    if (!never_runs(loop)) continue;
    for (std::size_t i = 0; i < node->outputs().size(); ++i) replace(node->output(i), loop.initial_values()[i]);
    node->erase();
    ++changed;
  }
  return changed;
}

std::size_t unroll_loops(ir::Graph& graph, Budget& budget, const ir::Watch& watch) {
  std::size_t unrolled = 0;
  for (ir::Node* node : all_nodes_backwards(graph, watch)) {
    if (!node->is("prim::Loop") || node->inputs().empty() || stacks_anything(*node)) continue;
    if (unroll_loop(node, budget)) ++unrolled;
  }
  return unrolled;
}

bool unroll_loop(ir::Node* node, Budget& budget, const CopiedBody& copied) {
  const ir::LoopView loop(*node);
  const auto iterations = iterations_of(loop);
  if (!iterations || *iterations < 0 || !worth_unrolling(loop, *iterations)) return false;
  const std::size_t cost = cost_of_copy(loop.body()), copies = static_cast<std::size_t>(*iterations);
  if (copies > budget.unrolled / cost || !spend(budget.unrolled, copies * cost)) return false;
  unroll(node, *iterations, copied);
  return true;
}

std::optional<std::int64_t> iterations_beyond_budget(const ir::Node& node) {
  const ir::LoopView loop(node);
  const auto iterations = iterations_of(loop);
  return iterations && *iterations > 1 && worth_unrolling(loop, *iterations) && !stacks_anything(node) ? iterations
                                                                                                       : std::nullopt;
}

std::size_t nodes_in_copies(const ir::Block& block) {
  constexpr std::size_t many = 1'000'000;
  std::size_t all = 0;
  for (const ir::Node* node : block) {
    std::size_t copied = 0;
    for (const ir::Block* body : node->blocks()) copied += nodes_in_copies(*body);
    const auto iterations = node->is("prim::Loop") ? iterations_beyond_budget(*node) : std::nullopt;
    if (iterations)
      copied = std::min(static_cast<std::size_t>(*iterations), many) *
               std::min(many, cost_of_copy(ir::LoopView(*node).body()) + copied);
    all = std::min(many, all + copied);
  }
  return all;
}

bool counts_up(const ir::Value* value) {
  if (ir::is_iteration(value)) return true;
  const auto carried = ir::carried_by(value);
  if (!carried || carried->place >= carried->loop.next_values().size()) return false;  // the body isn't complete yet
  const auto* first = known<std::int64_t>(carried->initial_value());
  const ir::Node* next = carried->next_value()->producer();
  if (!first || *first < 0 || !next || !next->is("aten::add") || next->inputs().size() != 2 || next->input(0) != value)
    return false;
  const auto* step = known<std::int64_t>(next->input(1));
  return step && *step > 0;
}

}  // namespace compatcheck::passes

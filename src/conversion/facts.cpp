#include "conversion/facts.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "conversion/fact_statement.h"
#include "conversion/settle_branches.h"
#include "conversion/settle_dimensions.h"
#include "conversion/settle_memory.h"
#include "ir/control_flow.h"
#include "passes/effects.h"
#include "passes/normalize.h"

namespace compatcheck::conversion {
namespace {

using symbolic::Fact;
using symbolic::FactTable;

// The constant that a value is proved to be, if its type is a number or a list of numbers.
std::optional<ir::Constant> proved(const Fact& fact, const ir::TypeRef& type) {
  if (!type || fact.tensor()) return std::nullopt;
  if (const auto* number = fact.number()) {
    if (type->kind == ir::TypeKind::floating && number->floating) return ir::Constant{*number->floating};
    if (!number->integer || !number->integer->is_number()) return std::nullopt;
    if (type->kind == ir::TypeKind::integer) return ir::Constant{*number->integer->number()};
    if (type->kind == ir::TypeKind::boolean) return ir::Constant{*number->integer->number() != 0};
    return std::nullopt;
  }
  const auto* list = fact.list();
  if (!list || !list->items || type->kind != ir::TypeKind::list) return std::nullopt;
  ir::ListConstant constant{.element = type->elements.front(), .items = {}};
  for (const Fact& item : *list->items) {
    auto value = proved(item, constant.element);
    if (!value) return std::nullopt;
    constant.items.push_back(std::move(*value));
  }
  return ir::Constant{std::move(constant)};
}

// A value, not a constant yet, of which the facts tell the constant.
bool proves_more(const ir::Graph& graph, const FactTable& facts) {
  bool any = false;
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    if (any || node->outputs().size() != 1 || node->is("prim::Constant") || node->output()->unused()) return;
    any = proved(facts.of(node->output()), node->output()->type()).has_value();
  });
  return any;
}

}  // namespace

FactTable state_facts(const ir::Graph& graph, const std::vector<InputFact>& inputs, const mapping::Table& table,
                      const schema::Registry& schemas, const symbolic::Registry& registry, const ir::Program* program,
                      const ir::Watch& watch) {
  Statement statement(graph, table, schemas, registry, program, watch);
  statement.inputs(graph, inputs);
  statement.block(*graph.top());
  return statement.take();
}

// ---- Trials

namespace {

// The nodes that values reach: only their facts depend on the values' facts.
class Reached {
 public:
  Reached(const std::vector<const ir::Value*>& from, const ir::Block& block) : values_(from.begin(), from.end()) { add(block); }

  NodeSelection nodes() { return std::move(nodes_); }

 private:
  bool add(const ir::Block& block) {
    bool any = false;
    for (const ir::Node* node : block) {
      const bool loop = node->is("prim::Loop");
      bool reached = any_reached(node->inputs());
      for (const ir::Block* inner : node->blocks()) reached |= loop ? reads_reached(*inner) : add(*inner);
      if (!reached) continue;
      any = true;
      if (loop) add_all(ir::LoopView(*node).body());  // facts of a loop's body settle together
      nodes_.add(node);
      values_.insert(node->outputs().begin(), node->outputs().end());
    }
    return any || any_reached(block.outputs());
  }

  bool any_reached(std::span<ir::Value* const> values) const {
    return std::ranges::any_of(values, [&](const ir::Value* value) { return values_.contains(value); });
  }

  bool reads_reached(const ir::Block& block) const {
    for (const ir::Node* node : block) {
      if (any_reached(node->inputs())) return true;
      for (const ir::Block* inner : node->blocks())
        if (reads_reached(*inner)) return true;
    }
    return any_reached(block.outputs());
  }

  void add_all(const ir::Block& block) {
    values_.insert(block.inputs().begin(), block.inputs().end());
    for (const ir::Node* node : block) {
      for (const ir::Block* inner : node->blocks()) add_all(*inner);
      nodes_.add(node);
      values_.insert(node->outputs().begin(), node->outputs().end());
    }
  }

  std::unordered_set<const ir::Value*> values_;
  NodeSelection nodes_;
};

}  // namespace

class FactTrials::State {
 public:
  State(const ir::Graph& graph, const mapping::Table& table, const schema::Registry& schemas, const symbolic::Registry& registry,
        const ir::Program* program, const ir::Watch& watch)
      : graph_(graph), statement_(graph, table, schemas, registry, program, watch) {}

  void state(const std::vector<InputFact>& inputs) {
    const bool first = std::exchange(first_, false);
    const auto changed = statement_.inputs(graph_, inputs);
    if (!first && changed.empty()) return;
    const NodeSelection reached = first ? NodeSelection() : Reached(changed, *graph_.top()).nodes();
    statement_.only(first ? nullptr : &reached);
    statement_.block(*graph_.top());
    statement_.only(nullptr);  // `reached` ends here
  }

  FactTable take() { return statement_.take(); }

  void suppose(const ir::Value* input, Fact fact, const NodeSelection& nodes) {
    remember(input);
    for (const ir::Node* node : nodes.all()) {
      for (const ir::Value* output : node->outputs()) remember(output);
      for (const ir::Block* block : node->blocks())
        for (const ir::Value* value : block->inputs()) remember(value);
    }
    statement_.reset(input, std::move(fact));
    statement_.only(&nodes);
    statement_.block(*graph_.top());
  }

  void restore() {
    for (auto& [value, fact] : before_) statement_.reset(value, std::move(fact));
    before_.clear();
  }

  void first_iteration(const ir::Node& loop, const std::function<void()>& look) {
    if (first_iterations_ == most_nested_iterations) return;
    std::vector<std::pair<const ir::Value*, Fact>> settled;
    remember(ir::LoopView(loop).body(), settled);
    const auto settle = [&] {
      for (auto& [value, fact] : settled) statement_.reset(value, std::move(fact));
      --first_iterations_;
    };
    ++first_iterations_;
    try {
      statement_.first_iteration(loop);
      look();
    } catch (...) {
      settle();
      throw;
    }
    settle();
  }

  bool in_first_iteration() const { return first_iterations_ > 0; }
  const FactTable& facts() const { return statement_.facts(); }
  std::size_t work() const { return statement_.work(); }

 private:
  static constexpr int most_nested_iterations = 3;  // each states the loops inside of it again

  void remember(const ir::Value* value) { before_.emplace(value, statement_.facts().of(value)); }
  void remember(const ir::Block& block, std::vector<std::pair<const ir::Value*, Fact>>& facts) const {
    for (const ir::Value* input : block.inputs()) facts.emplace_back(input, statement_.facts().of(input));
    for (const ir::Node* node : block) {
      for (const ir::Value* output : node->outputs()) facts.emplace_back(output, statement_.facts().of(output));
      for (const ir::Block* inner : node->blocks()) remember(*inner, facts);
    }
  }

  const ir::Graph& graph_;
  Statement statement_;
  bool first_ = true;
  std::unordered_map<const ir::Value*, Fact> before_;
  int first_iterations_ = 0;  // loops in loops whose first iterations are looked at now
};

FactTrials::FactTrials(const ir::Graph& graph, const mapping::Table& table, const schema::Registry& schemas,
                       const symbolic::Registry& registry, const ir::Program* program, const ir::Watch& watch)
    : state_(std::make_unique<State>(graph, table, schemas, registry, program, watch)) {}
FactTrials::~FactTrials() = default;

void FactTrials::state(const std::vector<InputFact>& inputs) { state_->state(inputs); }
void FactTrials::suppose(const ir::Value* input, Fact fact, const NodeSelection& nodes) {
  state_->suppose(input, std::move(fact), nodes);
}
std::size_t FactTrials::work() const { return state_->work(); }
void FactTrials::restore() { state_->restore(); }
void FactTrials::first_iteration(const ir::Node& loop, const std::function<void()>& look) { state_->first_iteration(loop, look); }
bool FactTrials::in_first_iteration() const { return state_->in_first_iteration(); }
symbolic::FactTable FactTrials::take() { return state_->take(); }
const FactTable& FactTrials::facts() const { return state_->facts(); }

bool fold_with_facts(ir::Graph& graph, const FactTable& facts, const schema::Registry& schemas, const ir::Watch& watch,
                     const FoldOptions& how) {
  // Writes that memory and parts turn into values first: a call is copied for its dimensions only where nothing writes. Branches
  // go before, too, for they take calls along.
  const bool writes = passes::writes_anything(*graph.top());
  std::size_t changes = writes ? settle_memory(graph, facts, how.program, watch) : 0;
  changes += settle_parts(graph, facts, writes, watch);
  changes += settle_branches(graph, facts, watch);
  std::size_t first_round = 0;
  if (!writes) changes += settle_dimensions(graph, facts, schemas, how.copies ? *how.copies : first_round, watch);
  const bool settled = changes > 0;
  if (how.folded && !settled && !proves_more(graph, facts)) return false;
  const auto known = [&](const ir::Value& value) { return proved(facts.of(&value), value.type()); };
  return passes::simplify(graph, schemas, known,
                          {.program = how.program,
                           .lost_writes = how.lost_writes,
                           .keep_assertions = how.keep_assertions,
                           .at_rest = how.folded && !settled,
                           .most_unrolled = how.most_unrolled},
                          watch) ||
         settled;
}

}  // namespace compatcheck::conversion

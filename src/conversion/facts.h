// The opset-independent pass that states the facts of every value, before any emission.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "mapping/table.h"
#include "passes/budget.h"
#include "schema/schema.h"
#include "symbolic/call.h"
#include "symbolic/registry.h"

namespace compatcheck::conversion {

// The stated or assumed fact of one model input, from --input, example inputs or the file. The caller marks unknown parts
// (`wants`).
struct InputFact {
  std::string name;  // the graph's own, "x" or "pair.0" for a member of a tuple
  symbolic::Fact fact;
};

// Facts of every value, including blocks of If and Loop (loops to a fixed point). Other inputs have the facts of their types
// in the graph, with `wants` of that input for unknown parts. `program` (may be null) is the program of the graph: it contains
// the packed parameters of quantized layers.
symbolic::FactTable state_facts(const ir::Graph& graph, const std::vector<InputFact>& inputs, const mapping::Table& table,
                                const schema::Registry& schemas, const symbolic::Registry& registry,
                                const ir::Program* program = nullptr, const ir::Watch& watch = {});

// Some nodes of a graph, each added after those that stand before it in its block.
class NodeSelection {
 public:
  bool add(const ir::Node* node) {  // false: it was there
    if (!nodes_.insert(node).second) return false;
    in_order_[node->owner()].push_back(node);
    return true;
  }
  bool contains(const ir::Node* node) const { return nodes_.contains(node); }
  std::size_t size() const { return nodes_.size(); }
  const std::unordered_set<const ir::Node*>& all() const { return nodes_; }
  std::span<const ir::Node* const> in(const ir::Block& block) const {
    const auto found = in_order_.find(&block);
    return found == in_order_.end() ? std::span<const ir::Node* const>{} : found->second;
  }

 private:
  std::unordered_set<const ir::Node*> nodes_;
  std::unordered_map<const ir::Block*, std::vector<const ir::Node*>> in_order_;
};

// Facts of a graph whose inputs become known step by step, or are tried out: an input's fact is assumed, and the facts that
// follow from it are stated again. The graph must not change.
class FactTrials {
 public:
  // The constructor's arguments must outlive the object.
  FactTrials(const ir::Graph& graph, const mapping::Table& table, const schema::Registry& schemas,
             const symbolic::Registry& registry, const ir::Program* program, const ir::Watch& watch);
  ~FactTrials();

  // States the facts of every value, as state_facts does; from the second time on, of values that inputs with changed facts
  // reach.
  void state(const std::vector<InputFact>& inputs);
  // `nodes`: those whose facts are stated again.
  void suppose(const ir::Value* input, symbolic::Fact fact, const NodeSelection& nodes);
  void restore();  // undoes suppose()
  // Calls `look` while the facts in the loop's body are those of its first iteration, with the loop's initial values. Does
  // nothing for loops that are nested too deep.
  void first_iteration(const ir::Node& loop, const std::function<void()>& look);
  bool in_first_iteration() const;
  const symbolic::FactTable& facts() const;
  symbolic::FactTable take();  // nothing may be stated afterwards
  std::size_t work() const;    // total cost: number and size of the stated facts

 private:
  class State;
  std::unique_ptr<State> state_;
};

struct FoldOptions {
  bool keep_assertions = false;
  bool folded = false;  // folded before, so that only what facts settle now is left
  std::vector<ir::LostWrite>* lost_writes = nullptr;
  const ir::Program* program = nullptr;  // program of the graph, if any
  std::size_t* copies = nullptr;         // number of copies of calls that earlier rounds made for dimensions
  std::size_t most_unrolled = passes::Budget{}.unrolled;
};

// Replaces ints, lists and branches that the facts settle by constants, then prunes. Returns whether anything changed; facts must
// be stated again after a change.
bool fold_with_facts(ir::Graph& graph, const symbolic::FactTable& facts, const schema::Registry& schemas,
                     const ir::Watch& watch = {}, const FoldOptions& how = {});

}  // namespace compatcheck::conversion

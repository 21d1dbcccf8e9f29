// The statement of facts: node by node in the order of the graph, loops until their facts no longer change.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "conversion/fact_rules.h"
#include "conversion/facts.h"
#include "conversion/written_memory.h"
#include "ir/control_flow.h"

namespace compatcheck::conversion {

// The constructor's arguments must outlive the object.
class Statement {
 public:
  Statement(const ir::Graph& graph, const mapping::Table& table, const schema::Registry& schemas,
            const symbolic::Registry& registry, const ir::Program* program, const ir::Watch& watch);

  // Returns the inputs whose facts are others than before.
  std::vector<const ir::Value*> inputs(const ir::Graph& graph, const std::vector<InputFact>& given);
  void block(const ir::Block& block);

  // States the facts of a loop's body in its first iteration, from the facts of the loop's arguments.
  void first_iteration(const ir::Node& loop);
  symbolic::FactTable take() { return std::move(facts_); }
  const symbolic::FactTable& facts() const { return facts_; }
  std::size_t work() const { return work_; }

  // States facts of some nodes only, whose facts are forgotten first; null for all.
  void only(const NodeSelection* nodes);
  // Replaces the fact of a value without a check.
  void reset(const ir::Value* value, symbolic::Fact fact);

 private:
  symbolic::Fact input_fact(const std::string& name, std::uint32_t index, const ir::TypeRef& type,
                            const std::vector<InputFact>& given);

  // "pair.0", "pair.1" … : members of a tuple, or those that are given of a list.
  void give_members(symbolic::ListFact& list, const std::string& name, std::uint32_t index, const ir::TypeRef& type,
                    const std::vector<InputFact>& given);
  void node(const ir::Node& node);

  // Arithmetic of small contents is exact; that of the dtype wraps around.
  static void forget_wrapped(symbolic::Fact& fact);
  void set(const ir::Value* value, symbolic::Fact fact);
  static std::size_t bytes_of(const symbolic::Fact& fact);
  static std::size_t large_bytes_of(const symbolic::Fact& fact);
  bool is_affordable(const symbolic::Fact& fact) const;

  // Whether the facts so far don't let the node run: an argument isn't reached, or it reads an item of an empty list.
  bool is_unreached(const ir::Node& node) const;
  bool is_unset(const ir::Value* value) const { return unset_.contains(value) || unreached_.contains(value); }
  void take_unset(const ir::Value* from, const ir::Value* to);
  void call(const ir::Node& node);
  bool follows_contradiction(const ir::Node& node);
  void state_quantizer(symbolic::Fact& fact, const ir::Node& node) const;

  // Returns the graph text's fact of a result that no rule states. Its sizes hold only if the arguments have the sizes that were
  // seen; --input may state others.
  symbolic::Fact seen_result(const ir::Node& node, const ir::TypeRef& type) const;
  bool has_seen_sizes(const ir::Value& value) const;

  // Whether none of its sizes depends on a named one.
  static bool is_fixed(const symbolic::Fact& fact);
  std::vector<symbolic::Fact> results_of(const symbolic::FactFunction& rule, const ir::Node& node, std::string& impossible) const;

  // A rule leaves a fact open because one of its arguments is open.
  void derive_unknown(symbolic::Fact& fact, const ir::Node& node, bool has_rule) const;

  // The written tensor keeps its dtype: the first argument of an in-place operator, the `out=` of another.
  void keep_written_dtype(symbolic::Fact& fact, const ir::Node& node, std::size_t output) const;

  // Running sums and products are computed in the dtype of the result, which `dtype=` may repeat.
  bool may_be_summed(const ir::Node& node, ir::DType written) const;

  // Follows c10::canCast: the kind of the written tensor must not be lower.
  static bool may_be_written(ir::DType result, ir::DType written);
  void take_dtype(symbolic::TensorFact& tensor, const ir::Value* written) const;

  // The If or Loop that mixes two dtypes or ranks is to blame for the unknown ones that follow.
  static symbolic::Fact joined(const symbolic::Fact& a, const symbolic::Fact& b, const ir::Node& control);
  void branch(const ir::Node& node);

  // prim::Loop(trip count, condition, carried…): its block takes (index, carried…), gives (condition, carried…).
  void loop(const ir::Node& node);

  // A stack has a row for each iteration if nothing ends the loop early.
  void count_rows(symbolic::Fact& stack, const ir::LoopView& loop) const;

  // Gives values that enter the loop unset the facts of an iteration's results; false if that fills nothing.
  bool fill(std::vector<symbolic::Fact>& state, std::vector<bool>& unset, const ir::LoopView& loop);

  // Widens the facts to those after one more iteration; false if that changes nothing.
  bool widen(std::vector<symbolic::Fact>& state, const ir::Node& node, int round) const;

  const mapping::Table& table_;
  const schema::Registry& schemas_;
  FactRules rules_;
  const ir::Program* program_;
  const ir::Watch& watch_;
  WrittenMemory written_;
  std::size_t all_visits_ = 0, visits_left_ = 0;
  std::size_t large_facts_ = 0;  // bytes of the facts that are stated or supposed now
  const NodeSelection* only_ = nullptr;
  std::size_t work_ = 0;
  std::unordered_set<const ir::Value*> unset_;         // prim::Uninitialized, and values that are never more than that
  std::unordered_set<const ir::Value*> contradicted_;  // values whose sizes the file contradicts, and what derives from them
  std::unordered_set<const ir::Value*> unreached_;     // values that derive only from items of empty lists
  std::vector<std::optional<symbolic::Fact>> inputs_;  // as given to state()
  symbolic::FactTable facts_;
};

}  // namespace compatcheck::conversion

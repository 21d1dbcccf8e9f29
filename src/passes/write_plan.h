// Which in-place writes can be expressed by new values, and why others can't.
//
// Tensors that are certainly views of one root form a family; a list forms its own. A write to a member becomes a new value of
// the root, from which the views that are read later are made again. Either all writes and reads of a family are converted or
// none: a family stays as it is if one of its writes has no functional form or reaches memory that outlives the call, if a
// value outside the family may see the memory, or if too many views would have to be made again.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "passes/alias.h"
#include "passes/lifetimes.h"
#include "passes/views.h"
#include "schema/schema.h"

namespace compatcheck::passes {

class WritePlan {
 public:
  // `aliases` of the graph as it stands.
  WritePlan(const ir::Graph& graph, std::shared_ptr<const Aliases> aliases, const schema::Registry& registry,
            const ir::Watch& watch);

  std::span<ir::Node* const> writes() const { return aliases_->writers(); }
  // Why the write stays; empty if it can be expressed.
  std::string obstacle(const ir::Node* write) const;
  // Another write, for whose sake alone this one stays, or the node whose result may share its memory; null where it stands in
  // its own way.
  const ir::Node* cause(const ir::Node* write) const;

  const Views& views() const { return views_; }
  // Whether the value is of a family with writes that all can be expressed.
  bool follows(const ir::Value* value) const;
  // The tensor that an expressible write goes to.
  ir::Value* target(const ir::Node* write) const;
  // A list, tuple or dict made here that nothing changes: it can be made again from its items.
  bool is_bundle(const ir::Value* value) const;
  // The roots from outside of an If or Loop that are written inside of it, by expressible writes.
  std::span<ir::Value* const> written_inside(const ir::Node* node) const;
  // Expressible writes that may reach the graph's inputs.
  std::vector<ir::LostWrite> written_inputs() const;

 private:
  using Family = const ir::Value*;  // the root; null for what is of no family

  Family family(const ir::Value* value) const { return views_.root(value); }
  Family family_written(const ir::Node* write) const;
  struct Obstacle {
    std::string why;
    const ir::Node* cause = nullptr;
  };
  void block(Family family, const std::string& why, const ir::Node* cause = nullptr) {
    if (family) blocked_.emplace(family, Obstacle{why, cause});
  }
  bool is_settled(Family family) const { return !family || blocked_.contains(family); }
  std::string own_obstacle(const ir::Node& write) const;
  std::string obstacle_of_target(const ir::Node& write, const ir::Value* target) const;
  std::string container_obstacle(const ir::Value* target) const;
  std::string memory_obstacle(const ir::Value* target) const;
  std::string out_obstacle(const ir::Node& write, const ir::Value* target) const;
  std::string size_change_obstacle(const ir::Node& write, const ir::Value* target) const;
  const ir::Value* view_that_outlives(const ir::Value* value, const ir::Node& write) const;
  void block_what_grows(const ir::Graph& graph);
  void find_puts();
  void find_clashes();
  void find_clashes(LocationId id);
  // The writes to one location.
  struct Writers {
    std::vector<std::pair<const ir::Node*, Family>> all;
    bool of_one_family = true;
  };
  Writers writers_of(LocationId id) const;
  void block_what_stays_changes();
  const ir::Node* later_in_place(const Writers& writers, const ir::Node* write, Family family) const;
  void check(LocationId id, const Writers& writers, const ir::Value* observer, const ir::Value* made);
  bool clashes(LocationId id, const ir::Value* observer, const ir::Value* made, const ir::Node* write) const;
  bool may_hold(LocationId id, const ir::Value* made, const ir::Node* write) const;
  void index_blocks();

  const schema::Registry& registry_;
  ir::Watch watch_;
  std::shared_ptr<const Aliases> aliases_;
  Views views_;
  Lifetimes lifetimes_;
  std::unordered_map<const ir::Node*, std::string> own_;     // obstacles of single writes
  std::unordered_map<const ir::Node*, ir::Value*> targets_;  // targets of the writes that have no obstacle of their own
  std::unordered_map<Family, Obstacle> blocked_;
  std::unordered_set<Family> written_;
  std::map<LocationId, std::vector<const ir::Node*>> puts_;  // nodes that put the memory into a list, dict or object
  std::unordered_map<const ir::Node*, std::vector<ir::Value*>> inside_;
  std::unordered_set<std::string> returned_;  // inputs that the caller gets back
};

}  // namespace compatcheck::passes

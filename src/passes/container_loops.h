// A Loop that isn't unrolled: what is carried from iteration to iteration, and the walk that finds it out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "ir/control_flow.h"
#include "passes/container_walk.h"
#include "passes/loops.h"

namespace compatcheck::passes {

// The part of a value that a loop carries: nothing, the value, parts of it, its contents, or its number among some constants.
struct ContainerWalk::Plan {
  enum class Kind : std::uint8_t { nothing, value, parts, contents, option, choice };
  Kind kind = Kind::nothing;
  ir::TypeRef type{};         // type of a value, and of what may be absent when the loop begins
  std::vector<Plan> parts{};  // an Optional has one, for what it is if it isn't None
  std::shared_ptr<CellPlan> contents{};
  std::vector<Abstract> options{};  // the options of a choice
};

struct ContainerWalk::CellPlan {
  bool whole = false;  // a list is carried as one value, or as its columns
  std::optional<Layout> layout{};
  bool untouched = false;  // an attribute may be so in some iteration
  std::vector<Plan> items{};
  // The container's kind, and a dictionary's keys. A whole dictionary is a table; its items are the plans of its two lists.
  Cell::Kind kind = Cell::Kind::list;
  std::vector<ir::Constant> keys{};
  // The keys of a dictionary that may be missing in some iteration: a bool is carried for each of these.
  std::vector<bool> may_miss{};
  bool unordered = false, unordered_at_first = false;  // after any iteration; after the first iteration
  std::vector<bool> there_at_end{};                    // per key: whether every iteration ends with it present
};

struct ContainerWalk::LoopPlan {
  std::map<std::size_t, Plan> carried{};  // plans of the carried values that are containers or tuples
  std::map<CellId, CellPlan> cells{};     // plans of the cells that existed before the loop
};

struct ContainerWalk::Ends {
  std::map<std::size_t, Abstract> heads{}, values{};
  std::map<CellId, Cell> head_cells{};
  HeapChanges changes{};
};

class ContainerWalk::Loop {
 public:
  Loop(ContainerWalk& walk, ir::Node* node) : walk_(walk), node_(node), loop_(*node) {}
  void run();

 private:
  bool awaits_container(const Abstract& entry) const;
  bool writes_containers(const ir::Block& block) const;
  void find_plan();
  ir::Node* copy();
  bool leaves_options_out() const { return walk_.options_.unfollowed.contains(site()); }
  Site site() const { return walk_.site_of(node_); }
  static bool keeps_place(const Plan& plan);

  // ---- container_loop_iterations.cpp
  using Carry = std::function<ir::Value*(ir::Value* before, const ir::TypeRef& type)>;

  Ends walk_body(ir::Node* loop);
  Abstract instance(const Plan& plan, const Abstract* abstract, ir::Node* place, const Carry& carry);
  void add_elements(CellId list, const Abstract* before);
  void hold_elements(CellId list);
  void hold_values(CellId list, const Cell& dict);
  static bool has_layout(const Plan& plan);
  static bool any_has_layout(const std::vector<Plan>& plans);
  bool makes_lists_in_columns() const;
  ir::Value* code_of(const Plan& plan, const Abstract* choice, ir::Node* place);
  static ir::Value* undefined(const ir::TypeRef& type, ir::Node* place);
  static ir::Value* presence(const Abstract& abstract, ir::Node* place);
  Cell instance_of_keys(const CellPlan& plan, const Cell& before, ir::Node* place, const Carry& carry);
  static const Abstract* item_of(const Cell& dict, const ir::Constant& key);
  static ir::Value* presence_in(const Cell& dict, const Abstract* item, ir::Node* place);
  Cell instance(const CellPlan& plan, const Abstract* before, const ir::TypeRef& type, ir::Node* place, const Carry& carry);
  Cell instance(const CellPlan& plan, CellId id, ir::Node* place, const Carry& carry);

  // ---- container_loop_plans.cpp
  bool widen(const Ends& ends);
  bool existed(CellId id) const { return walk_.existed(id, *node_, cells_before_); }
  const Cell& end_state(CellId id, const Ends& ends) const;
  bool widen(Plan& plan, const Abstract& head, const Abstract& end, const Ends& ends, bool carried);
  void make_option(Plan& plan, const Abstract& head, const Abstract& end, const Ends& ends, bool carried);
  Plan awaited(const Abstract& head, const Abstract& end, const Ends& ends);
  Plan whole_list(const Abstract& list, const Ends& ends);
  Plan all_of(const Abstract& abstract, const Ends& ends);
  bool widen(CellPlan& plan, const Cell& head, const Cell& end, const CellOrigin& origin, const Ends& ends);
  std::optional<Layout> layout_of(const Cell& head, const Cell& end, const ir::TypeRef& type, const Ends& ends);
  bool widen_layout(CellPlan& plan, const Layout& layout);
  static bool keeps_order(const std::vector<ir::Constant>& keys, const std::vector<ir::Constant>& later);
  void refuse_shared(const Abstract& item, const Ends& ends);
  bool widen_keys(CellPlan& plan, const Cell& head, const Cell& end, const Ends& ends);
  bool widen_table(CellPlan& plan, const Cell& head, const Cell& end, const CellOrigin& origin, const Ends& ends);
  [[noreturn]] void refuse(const Abstract& head, const Abstract& end) const;

  // ---- container_loop_names.cpp
  using Cells = std::vector<std::optional<CellId>>;  // carried values that are cells, in order; none for a value that is None
  static void find_cells(const Plan& plan, const Abstract* abstract, Cells& cells);
  Cells cells_in(const std::map<std::size_t, Abstract>& values) const;  // of the carried values, by their places
  static void find_tables(const Plan& plan, const Abstract* abstract, std::set<CellId>& dicts);
  bool meet(const Cells& heads, const Ends& ends);
  void note_elements(const Cells& last, const Ends& ends);
  Identities identities(std::optional<CellId> cell) const { return cell ? walk_.heap_.identities(*cell) : Identities(); }
  bool was_outside(Identity identity) const;
  std::vector<ir::Value*> flags_of(const Cells& cells, ir::Node* place);
  void give_identities(const Cells& cells, std::span<ir::Value* const> flags);

  // ---- container_loops.cpp: after the loop
  void finish(const Ends& ends);
  void collect(const Plan& plan, const Abstract* end, const Ends& ends, std::vector<ir::Value*>& values);
  void collect_undefined(CellPlan& plan, const ir::TypeRef& type, const Ends& ends, std::vector<ir::Value*>& values);
  void collect(CellPlan& plan, const Cell& end, const CellOrigin& origin, const Ends& ends, std::vector<ir::Value*>& values);

  ContainerWalk& walk_;
  ir::Node* node_;
  ir::LoopView loop_;
  std::map<std::size_t, Abstract> entries_{};  // carried values before the loop
  LoopPlan plan_{};
  std::set<Site> plan_sites_{};
  std::set<std::pair<std::size_t, std::size_t>> meeting_{};  // places of carried cells that may be one list
  std::set<std::pair<std::size_t, Identity>> outer_{};       // outside objects that a carried cell may be
  // The identities of items of carried lists. Items of two such lists may be one object.
  std::set<Identity> elements_{walk_.heap_.new_identity()};
  bool repeats_ = false;  // an object may stand in two places of one of them
  bool runs_ = runs_at_least_once(*node_);
  Identity first_identity_ = walk_.heap_.new_identity();
  std::size_t cells_before_ = walk_.heap_.size();
};

}  // namespace compatcheck::passes

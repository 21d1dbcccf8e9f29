// One walk over a graph that follows lists, dictionaries, tuples, objects and attributes (container_*.cpp). It changes the
// graph as it goes: what reads a container gets the value that it reads, writes go, and a container is made anew where an
// operator needs it whole.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/lost_write.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "passes/budget.h"
#include "passes/container_attributes.h"
#include "passes/container_forms.h"
#include "passes/container_layouts.h"
#include "passes/heap.h"
#include "passes/unfollowed.h"
#include "schema/schema.h"

namespace compatcheck::passes {

// Containers made at these sites can't be followed: the walk must be made again without them.
struct LeftOut {
  std::set<Site> sites;
  bool lacks_names = false;  // unless loops carry which names mean one object
  bool lacks_order = false;  // unless a dictionary becomes a table before the order of its keys gets lost
  Unfollowed why = Unfollowed::unknown;
  std::int64_t place = 0;  // of the mark; 0: a new one
};

// The walk ends, and all containers of the graph stay as they are.
struct NotFollowed {};
struct TooMuchWork : NotFollowed {};  // a bound is reached: of steps, of rounds of a loop, or of keys
struct TooManySteps : TooMuchWork {};
struct NothingToLeaveOut : NotFollowed {};  // something can't be followed, and no container is known without which it could

// Maps ids of values to what is known of them: a walk looks up values more often than it does anything else.
class KnownValues {
 public:
  using Entry = std::pair<const ir::Value* const, Abstract>;
  explicit KnownValues(std::pmr::memory_resource* memory) : by_id_(memory), entries_(memory) {}

  const Entry* find(const ir::Value* value) const { return value->id() < by_id_.size() ? by_id_[value->id()] : nullptr; }
  const Entry* end() const { return nullptr; }
  const Abstract& at(const ir::Value* value) const { return by_id_.at(value->id())->second; }
  Abstract& operator[](const ir::Value* value) {
    if (value->id() >= by_id_.size()) by_id_.resize(2 * std::size_t{value->id()} + 1);
    Entry*& entry = by_id_[value->id()];
    if (!entry) entry = &entries_.emplace_back(value, Abstract());
    return entry->second;
  }

 private:
  std::pmr::vector<Entry*> by_id_;
  std::pmr::deque<Entry> entries_;
};

class ContainerWalk {
 public:
  struct Options {
    const ir::Program* program = nullptr;
    const schema::Registry& registry;
    Budget& budget;
    ir::Watch watch;
    const std::set<Site>& unfollowed;
    const std::set<Site>& ordered;          // of dictionaries that become tables before the order of their keys gets lost
    std::map<Site, UnfollowedMark>& marks;  // reasons for sites that are left out
    const std::map<AttributeKey, std::string>& attributes;  // the attributes to follow, and their paths
    std::size_t most_work = 0;
    bool tracks_names = false;                       // loops carry which names mean one object
    const char* exception = "prim::RaiseException";  // the operator that raises for a missing key
  };

  ContainerWalk(ir::Graph& graph, Options options) : graph_(graph), options_(options) {}
  void run();
  // A second call of the model with the same inputs, from what the first one left in attributes. Its nodes follow second_call(),
  // its outputs those of the first.
  void run_again(const ir::Graph& original);
  const ir::Node* second_call() const { return second_call_; }
  void finish();  // erases what nothing reads any more

  // Places whose containers couldn't be followed; if there are any, the graph is only good for deleting.
  const std::set<Site>& failed() const { return failed_; }
  std::set<Site> failed_with_contents();
  // Something failed because a loop doesn't carry which names mean one object.
  bool lacks_names() const { return lacks_names_; }
  // Places of dictionaries of which the order of the keys got lost.
  const std::set<Site>& lacks_order() const { return lacks_order_; }
  bool has_failed() const { return lacks_names_ || !lacks_order_.empty() || !failed_.empty(); }
  std::size_t changes() const { return changes_; }
  std::map<AttributeKey, AttributeCourse> courses() const;
  std::vector<ir::LostWrite>& lost_writes() { return lost_writes_; }
  // Whether the attribute ends with the same value for every input, but for sizes whose logarithms are rounded.
  bool is_nearly_constant(const AttributeKey& key) const;

 private:
  using Visit = void (ContainerWalk::*)(ir::Node*);

  // ---- container_values.cpp
  Abstract look(ir::Value* value);
  void know(const ir::Value* value, Abstract abstract);
  bool holds(const ir::Value* value, const Abstract& abstract);
  Abstract look_at_constant(ir::Value* value, const ir::Constant& constant);
  CellId add_cell(Cell cell, const ir::TypeRef& type, std::set<Site> sites, const ir::Value* value = nullptr);
  Abstract new_container(const ir::Node* node, Cell cell);  // the result of the node
  // Whether it was there before the If or Loop, when there were so many cells.
  bool existed(CellId id, const ir::Node& before, std::size_t cells) const;
  const Cell* known_list(const Abstract& list);  // null if the items aren't known
  std::optional<ir::Constant> as_constant(const Abstract& abstract) const;
  ir::Value* leaf(const Abstract& abstract, ir::Node* place);  // a value of the graph that can stand before `place`
  ir::Value* make(const Cell& cell, const CellOrigin& origin, ir::Node* place);
  Abstract as_parts(const Abstract& abstract, ir::Node* place);  // parts of a tuple that isn't followed

  // ---- container_sites.cpp
  [[noreturn]] void leave(const Abstract& abstract, Unfollowed why = Unfollowed::unknown) const;  // throws LeftOut
  [[noreturn]] void leave(std::set<Site> sites, Unfollowed why = Unfollowed::unknown) const;
  [[noreturn]] void leave_names(CellId one, CellId other) const;  // for cells that may be one object, or hold one
  void add_sites(const Abstract& abstract, std::set<Site>& sites) const;
  void mark(const LeftOut& left);
  void mark_held(const Abstract& item, const std::set<Site>& holder);
  Site site_of(const ir::Node* node) const;
  Site site_of(const ir::Value* value) const;
  bool is_left_out(const ir::Value* value) const { return options_.unfollowed.contains(site_of(value)); }
  bool is_left_out_result(const ir::Node* node) const { return node->outputs().size() == 1 && is_left_out(node->output()); }
  void label(const ir::Block& block);
  std::vector<Site> labels_of(const ir::Block& block);  // labels of the block's nodes, nested ones too, in order
  void label_copy(const ir::Node* first, const ir::Node* end, std::span<const Site> labels);

  // ---- container_names.cpp
  Cell& change(CellId id, const ir::Node* writer);
  void spread(ir::Node* place, Site site);
  void note_lost(const std::string& input, const ir::Node* writer);
  bool is_live(CellId id, const ir::Node* after, std::optional<CellId> without = {});
  ir::Value* sameness(CellId one, CellId other, ir::Node* place);

  // ---- container_walk.cpp
  void walk(ir::Block& block);
  void visit_from(ir::Node* first);
  void visit(ir::Node* node);
  void safely(ir::Node* node, Visit step);
  void visit_other(ir::Node* node);
  bool evaluate_known(ir::Node* node);
  void put_operands(ir::Node* node);
  void put_outputs(ir::Node* node);
  void put_operands_from(ir::Node* node, std::size_t first);
  void give(ir::Node* node, Abstract result);
  void drop(ir::Node* node);  // erases the node at the end of the walk
  void visit_next(ir::Node* node);
  // Nodes before `node` stand in its place, of which `first` is the first one, and `results` for its outputs.
  void visit_instead(ir::Node* node, ir::Node* first, std::span<ir::Value* const> results);
  void visit_instead(ir::Node* node, ir::Node* made) { visit_instead(node, made, made->outputs()); }
  ir::Value* stand_in(ir::Value* value, ir::Node* place);
  void stand_for(ir::Value* value, Abstract abstract, ir::Node* place);
  ir::Value* stand_in_for(ir::Node* node, std::size_t operand);  // replaces this operand only
  void work(std::size_t steps = 1);

  // ---- container_operators.cpp, container_reads.cpp, container_writes.cpp, container_objects.cpp
  static const std::unordered_map<std::string_view, Visit>& visits();
  void list_construct(ir::Node* node);
  void dict_construct(ir::Node* node);
  bool sets_open_keys(const ir::Node& node);
  void set_keys(ir::Node* node);
  bool has_value(const Abstract& abstract);
  bool put_members(ir::Node* node);
  void tuple_construct(ir::Node* node);
  void tuple_read(ir::Node* node);
  void list_unpack(ir::Node* node);
  void tensor(ir::Node* node);
  void to_list(ir::Node* node);
  void split(ir::Node* node);
  void item(ir::Node* node);
  void length(ir::Node* node);
  void slice(ir::Node* node);
  void sum(ir::Node* node);
  void repeat(ir::Node* node);
  void copy(ir::Node* node);
  void verdict(ir::Node* node);
  void contains(ir::Node* node);
  std::optional<std::size_t> find(const std::vector<Abstract>& items, ir::Value* searched);
  void index(ir::Node* node);
  void sorted(ir::Node* node);
  void dict_view(ir::Node* node);
  void dict_of(ir::Node* node);
  void write(ir::Node* node);
  void identity(ir::Node* node);
  void is_instance(ir::Node* node);
  ir::Value* negated(ir::Value* truth, ir::Node* place);
  ir::Node* resolved_node(ir::Node* place, const char* op, std::span<ir::Value* const> inputs,
                          std::span<const ir::TypeRef> types);
  ir::Value* computed(ir::Node* place, const char* op, std::span<ir::Value* const> inputs, const ir::TypeRef& type);
  void refine(ir::Node* node);
  void to(ir::Node* node);
  void create_object(ir::Node* node);
  void get_attribute(ir::Node* node);
  void set_attribute(ir::Node* node);
  bool write_list(ir::Node* node, CellId id);
  void write_list_value(ir::Node* node, CellId id);
  void write_dict(ir::Node* node, CellId id);
  bool take_open_key(ir::Node* node, CellId id);
  void pop_first(ir::Node* node, CellId id);
  void give_list(ir::Node* node, std::vector<Abstract> items);
  void give_each(ir::Node* node, const std::vector<Abstract>& results);
  void visit_made(ir::Node* node);
  void visit_cut(ir::Node* node, const Abstract& list);
  void visit_holder(ir::Node* node, const std::vector<Abstract>& items);
  void leave_nested(const Abstract& list) const;
  void wrote(ir::Node* node, CellId id);
  static bool sort_constants(std::vector<Abstract>& items);
  std::optional<AttributeKey> attribute_key(const ir::Node* node) const;

  // ---- container_branches.cpp
  struct Join;
  void branch(ir::Node* node);
  void set_state(CellId id, Cell cell);
  ir::Node* empty_branch(ir::Value* condition, ir::Node* place, Site site);
  Abstract either(ir::Value* condition, const Abstract& yes, const Abstract& no, ir::Node* place);
  void select(ir::Value* same, CellId from, CellId to, ir::Node* place, Site site);

  // ---- container_columns.cpp
  std::optional<Layout> layout_of(const Abstract& item);
  std::optional<Layout> layout_of_parts(Layout layout, const std::vector<Abstract>& parts);
  std::optional<Layout> layout_of_list(const Cell& list, const ir::TypeRef& type);
  std::optional<Layout> layout_of_items(const Cell& list, const ir::TypeRef& type);
  std::optional<Layout> joint_layout(const Cell& a, const Cell& b, const ir::TypeRef& type);
  void add_leaves(const Layout& layout, const Abstract& item, ir::Node* place, std::vector<ir::Value*>& leaves);
  ir::Value* vector_of(ir::Value* list, ir::Node* place);
  ir::Value* cast(ir::Value* tensor, std::int64_t dtype, ir::Node* place);
  ir::Value* as_numbers(ir::Value* tensor, const ir::TypeRef& list, ir::Node* place);
  ir::Value* numbers_of(ir::Value* vector, const ir::TypeRef& list, ir::Node* place);
  Abstract item_from(const Layout& layout, std::span<ir::Value* const>& leaves, const std::set<Identity>& elements,
                     ir::Node* place);
  std::vector<ir::Value*> columns_of(const Cell& list, const std::set<Site>& sites, const Layout& layout, ir::Node* place);
  bool keep_in_columns(CellId id, ir::Node* place);
  void set_columns(CellId id, Layout layout, std::vector<ir::Value*> columns);

  // ---- container_ragged.cpp
  ir::Value* part_of_list(ir::Value* list, ir::Value* start, ir::Value* end, ir::Node* place);
  std::array<ir::Value*, 2> range_at(ir::Value* lengths, ir::Value* index, ir::Node* place);
  std::vector<ir::Value*> leaves_at(const std::vector<ir::Value*>& columns, const Layout& layout, ir::Value* index,
                                    ir::Node* place);
  std::vector<ir::Value*> with_leaves_at(const std::vector<ir::Value*>& columns, const Layout& layout, ir::Value* index,
                                         const std::vector<ir::Value*>& leaves, ir::Node* place);
  std::vector<ir::Value*> with_leaves_added(const std::vector<ir::Value*>& columns, const Layout& layout,
                                            const std::vector<ir::Value*>& leaves, ir::Node* place);
  std::vector<ir::Value*> columns_of_items(const std::vector<Abstract>& items, const Layout& layout, ir::Node* place);

  // ---- container_placements.cpp
  struct Placement {
    CellId list;
    ir::Value* index;
    std::uint64_t version;  // the list's
    Abstract item;
    const ir::Block* block;  // the block in which this holds
  };
  using Placements = std::unordered_map<CellId, std::shared_ptr<const Placement>>;
  // The identities of the containers in items of a list.
  struct Held {
    std::set<Identity> identities{};
    bool repeats = false;  // one stands in two places
  };
  void for_each_cell(const Abstract& item, const std::function<void(CellId)>& visit);
  Held held_by(const std::vector<Abstract>& items);
  bool lives_on(CellId id, const ir::Node* node, std::optional<CellId> list = {}, CellId first_result = ~CellId{});
  bool has_one_name(CellId list, const ir::Block& block);
  Held held_at_end(const std::vector<Abstract>& items, CellId list, const ir::Block& block, CellId first_result);
  bool may_hold(CellId list, CellId id) const;
  std::set<Identity> elements_of(CellId list);
  bool repeats(CellId list);
  void hold(CellId list, const Abstract& item, ir::Node* node, const Placement* own = nullptr);
  void hold_items_of(CellId from, CellId list);
  void place_item(CellId list, ir::Value* index, const Abstract& item, const ir::Block* block);
  Placements standing(const Placements& before) const;
  static Placements in_both(const Placements& one, const Placements& other);
  void settle_placements();
  void reach_lists(CellId id, const ir::Node* writer);
  void write_back(ir::Node* place);

  // ---- container_column_operators.cpp
  struct ChangedColumn {
    ir::Value* list = nullptr;
    ir::Value* popped = nullptr;  // the item that pop returns
  };
  struct ChangedColumns {
    std::vector<ir::Value*> columns{};
    std::vector<ir::Value*> popped{};
  };
  ir::Value* from_front(ir::Value* index, ir::Value* list, ir::Node* place);
  ChangedColumn changed_column(ir::Node* place, const std::string& op, const std::vector<ir::Value*>& inputs);
  ChangedColumns changed_columns(ir::Node* node, const Layout& layout, const std::vector<ir::Value*>& columns,
                                 const std::vector<ir::Value*>& leaves);
  bool write_columns(ir::Node* node, CellId id);
  std::vector<ir::Value*> in_order(const std::vector<ir::Value*>& columns, ir::Value* order, ir::Node* place);
  std::optional<std::vector<ir::Value*>> sorted_columns(const Cell& list, bool backwards, ir::Node* place);
  bool sort_columns(ir::Node* node, CellId id);
  void give_columns(ir::Node* node, const Layout& layout, std::vector<ir::Value*> columns, const std::vector<CellId>& from);
  bool read_columns(ir::Node* node, CellId id);
  bool add_columns(ir::Node* node, CellId a, CellId b);

  // ---- container_outputs.cpp
  ir::Value* option(const Abstract& abstract, ir::Node* place);
  void optional_construct(ir::Node* node);
  ir::Value* spread_out(const Cell& cell, const CellOrigin& origin, ir::Node* place);
  ir::Value* spread_table(const Cell& table, ir::Node* place);
  ir::Value* spread_out(const Layout& layout, std::span<ir::Value* const>& columns, ir::Node* place);
  ir::Value* spread_object(const Cell& object, const CellOrigin& origin, ir::Node* place);
  std::optional<std::size_t> known_rows(const Abstract& structure);
  Abstract row_of(const Abstract& structure, const ir::TypeRef& type, std::size_t row, ir::Node* place);
  void columns_construct(ir::Node* node);

  // ---- container_choices.cpp
  ir::Value* code_in(const Abstract& choice, std::vector<Abstract>& options, ir::Node* place);
  ir::Value* list_of(const std::vector<ir::Constant>& constants, ir::Node* place);
  ir::Value* number_of(ir::Value* code, const std::vector<ir::Constant>& numbers, ir::Node* place);
  ir::Value* is_one_of(ir::Value* code, const std::vector<bool>& which, ir::Node* place);
  ir::Value* spelled(const Abstract& choice, ir::Node* place);
  bool visit_choice(ir::Node* node);
  bool map_choice(ir::Node* node, const Abstract& choice);
  void expand(ir::Node* node, const Abstract& choice);

  // ---- container_keys.cpp
  struct KeyTest {
    CellId dict;
    const ir::Value* key;
    std::vector<ir::Constant> keys;
    std::uint64_t version = 0;  // the dictionary's
  };
  void settle_keys(const ir::Value* condition, bool holds);
  void demand(ir::Value* holds, ir::Node* node);
  void write_key_that_may_be_there(ir::Node* node, CellId id, const ir::Constant& key, ir::Value* present);
  bool is_there(const KeyTest& test, const ir::Node* node) const;
  void note_keys(const ir::Value* condition, bool holds, const ir::Block* block);
  bool takes_open_key(CellId dict, const ir::Value* key) const;
  Unfollowed why_without_key(CellId dict) const;  // the reason if a key isn't known
  ir::Value* list_of_keys(CellId dict, ir::Node* place);
  ir::Value* place_of_key(CellId dict, ir::Value* key, ir::Node* place);
  ir::Value* is_key_of(CellId dict, ir::Value* key, ir::Node* place);
  Abstract item_of(CellId dict, ir::Value* key, ir::Node* place);
  Abstract item_at(ir::Value* code, const Abstract& container, ir::Node* place);
  std::vector<Abstract> with_item_at(ir::Value* code, CellId container, const Abstract& item, ir::Node* place);
  ir::Value* place_in(std::size_t size, ir::Value* index, ir::Node* place);
  ir::Value* is_place(ir::Value* code, std::size_t place_in_list, ir::Node* place);
  void read_open_key(ir::Node* node, CellId dict);
  void get_open_key(ir::Node* node, CellId dict);
  void set_open_key(ir::Node* node, CellId dict);

  // ---- container_tables.cpp
  bool may_become_table(CellId dict) const;
  static bool may_become_table(const Cell& dict, const ir::TypeRef& type);
  bool orders_as_table(const Cell& dict, const ir::TypeRef& type, const std::set<Site>& sites);
  void need_order(const Cell& dict, const ir::TypeRef& type, std::set<Site> sites) const;
  bool make_table(CellId dict, ir::Node* place);
  void settle(CellId dict, ir::Node* place);
  Cell table_of(Cell dict, ir::TypeRef type, std::set<Site> sites, ir::Node* place);
  Cell list_of_present(const std::vector<Abstract>& items, std::span<ir::Value* const> presences, const ir::TypeRef& type,
                       const std::set<Site>& sites, ir::Node* place);
  void read_table(ir::Node* node, CellId dict);
  void read_value(ir::Node* node, CellId table);
  void write_table(ir::Node* node, CellId dict);
  void set_in_table(ir::Node* node, CellId dict);
  void take_from_table(ir::Node* node, CellId dict);
  void take_or_default(ir::Node* node, CellId dict);
  void take_first(ir::Node* node, CellId dict);
  void update_item_by_item(ir::Node* node, CellId dict, CellId from);
  void view_table(ir::Node* node, CellId dict, const Cell& table);
  void view_dict(ir::Node* node, CellId dict);
  ir::Value* name_of(CellId list, ir::Node* place);
  ir::Value* name_of(const Abstract& abstract, const ir::TypeRef& type, ir::Node* place);
  ir::Node* labelled(ir::Node* place, const char* op, std::span<ir::Value* const> inputs, std::span<const ir::TypeRef> types,
                     Site site);

  // ---- container_loops.cpp
  struct Plan;
  struct CellPlan;
  struct LoopPlan;
  struct Ends;
  class Loop;
  friend class Loop;
  friend struct Join;
  void loop(ir::Node* node);
  bool unroll_here(ir::Node* node);

  // ---- container_attributes.cpp
  void load_attributes();
  void check_distinct_lists(ir::Node* end);
  void keep_snapshot();
  bool is_as_before(const Abstract& before, const Abstract& now) const;

  ir::Graph& graph_;
  Options options_;
  std::size_t work_left_ = options_.most_work;

  std::pmr::monotonic_buffer_resource memory_;  // for the tables of one walk, which only grow
  Heap heap_;
  KnownValues known_{&memory_};
  std::unordered_map<CellId, std::vector<const ir::Value*>> names_;  // values that are references to a cell
  std::pmr::unordered_map<const ir::Node*, Site> labels_{&memory_};
  std::pmr::unordered_set<const ir::Node*> done_{&memory_};
  // Nodes that the walk has made in the place of others: they read what a container holds, and not the container.
  std::pmr::unordered_set<const ir::Node*> reads_contents_{&memory_};
  std::vector<ir::Node*> dropped_;
  std::vector<std::pair<CellId, CellId>> to_spread_;  // a changed cell, and one that may be the same object
  Placements placements_;                             // of items read from lists kept in columns
  std::vector<std::shared_ptr<const Placement>> to_write_back_;
  std::uint64_t versions_ = 0;              // of lists
  std::size_t nested_ = 0;                  // items within items that are looked at
  bool gives_outputs_ = false;              // whether the model's outputs are being made
  ir::Node* next_ = nullptr;                // the node to visit after this one
  std::map<AttributeKey, CellId> holders_;  // one cell for each attribute, which holds it and whether it is still as it was
  std::vector<Cell> snapshot_;              // all cells when the call began
  std::set<AttributeKey> read_before_write_;
  std::vector<ir::LostWrite> lost_writes_;
  ir::Node* second_call_ = nullptr;                          // stands before its nodes
  bool keys_may_miss_ = false;                               // a key may be missing from some dictionary
  std::map<const ir::Value*, KeyTest> key_tests_;            // bools that say whether a key is in a dictionary
  std::vector<std::pair<KeyTest, const ir::Block*>> there_;  // keys known to be present within a block
  bool writes_under_names_ = false;                          // something that other names may mean has been written
  bool lacks_names_ = false;
  std::set<Site> lacks_order_;
  std::set<Site> failed_;
  std::size_t changes_ = 0;
};

}  // namespace compatcheck::passes

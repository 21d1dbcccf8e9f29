// What holds after a Loop that isn't unrolled. Copies of its body are walked until it is known what a trip leaves as it was;
// everything else is carried: item by item where a container keeps its structure, as a whole list where it doesn't.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "passes/container_walk.h"
#include "passes/loops.h"
#include "passes/rewrite.h"
#include "passes/stack_in_loops.h"

namespace compatcheck::passes {

struct ContainerWalk::CellPlan {
  bool whole = false;  // a list is carried as one value, or as its columns
  std::optional<Layout> layout{};
  bool untouched = false;  // an attribute may be so in some trip
  std::vector<Plan> items{};
  // What it is where an Optional is None when the loop begins.
  Cell::Kind kind = Cell::Kind::list;
  std::vector<ir::Constant> keys{};
  // Of a dictionary whose keys aren't those of the first trip: a bool is carried for each that may be missing.
  std::vector<bool> may_miss{};
  bool unordered = false, unordered_at_first = false;  // after some trip, after the first one
  mutable std::vector<bool> there_at_end{};            // of each trip, for sure
};

// What is carried of a value: nothing, all of it, something of its parts or its contents, or which of some constants it is.
struct ContainerWalk::Plan {
  enum class Kind : std::uint8_t { nothing, value, parts, contents, option, choice };
  Kind kind = Kind::nothing;
  ir::TypeRef type{};         // of a value, and of what may not be there when the loop begins
  std::vector<Plan> parts{};  // an Optional has one, for what it is if it isn't None
  std::shared_ptr<CellPlan> contents{};
  std::vector<Abstract> options{};  // of a choice
};

struct ContainerWalk::LoopPlan {
  std::map<std::size_t, Plan> carried{};  // of the carried values that are containers or tuples
  std::map<CellId, CellPlan> cells{};     // that were there before
};

struct ContainerWalk::Ends {
  std::map<std::size_t, Abstract> heads{}, values{};
  std::map<CellId, Cell> head_cells{};
  HeapChanges changes{};
};

class ContainerWalk::Loop {
 public:
  Loop(ContainerWalk& walk, ir::Node* node) : walk_(walk), node_(node) {}

  void run() {
    for (std::size_t i = 2; i < node_->inputs().size(); ++i) {
      Abstract entry = walk_.look(node_->input(i));
      if (is_unknown_tuple(entry)) {
        entry = walk_.as_parts(entry, node_);
        walk_.know(walk_.stand_in_for(node_, i), entry);
      }
      const bool optional = ir::is(node_->output(i - 2)->type(), ir::TypeKind::optional) && !leaves_options_out();
      if (!entry.followed() && !(optional && is_settled(entry)) && !is_label(entry) && !is_undefined_label(entry)) continue;
      plan_.carried[i - 2];
      entries_[i - 2] = std::move(entry);
    }
    // A write asks who reads the container later: later trips do. The walk takes their reads away, a copy keeps them in sight.
    ir::Node* later_trips = nullptr;
    if (writes_containers(*node_->blocks()[0]) || !plan_.carried.empty()) {
      const bool elsewhere = std::exchange(walk_.writes_under_names_, false);
      find_plan();
      if (walk_.writes_under_names_) later_trips = copy();
      if (later_trips) walk_.done_.insert(later_trips);  // what the loop is given isn't read again
      walk_.writes_under_names_ = walk_.writes_under_names_ || elsewhere;
    }
    Ends ends = walk_body(node_);
    if (widen(ends)) throw TooMuchWork{};
    if (later_trips) later_trips->erase();
    finish(ends);
  }

 private:
  static bool writes_containers(const ir::Block& block) {
    bool writes = false;
    const auto writes_container = [](const ir::Node& node) {
      const auto visit = visits().find(node.op());
      return visit != visits().end() && visit->second == &ContainerWalk::write && !node.inputs().empty() &&
             !ir::is(node.input(0)->type(), ir::TypeKind::tensor);
    };
    // A list that isn't in columns yet may have to be from a read on.
    const auto needs_other_form = [](const ir::Node& node) {
      return !node.inputs().empty() && needs_columns(node.input(0)->type()) &&
             !is_plain_element(node.input(0)->type()->elements[0]);
    };
    ir::for_each_node(block, [&](const ir::Node* node) {
      writes = writes || node->is("prim::SetAttr") || writes_container(*node) || needs_other_form(*node);
    });
    return writes;
  }

  void find_plan() {
    constexpr int most_rounds = 16;
    for (int round = 0; round < most_rounds; ++round) {
      const std::size_t changes = walk_.changes_, dropped = walk_.dropped_.size(), there = walk_.there_.size();
      const Budget budget = walk_.budget_;  // copies are thrown away
      ir::Node* trial = copy();
      Ends ends = walk_body(trial);
      const bool more = widen(ends);
      walk_.budget_ = budget;
      walk_.dropped_.resize(dropped);
      walk_.there_.erase(walk_.there_.begin() + static_cast<std::ptrdiff_t>(there), walk_.there_.end());
      walk_.changes_ = changes;
      trial->erase();
      if (!more) return;
    }
    throw TooMuchWork{};
  }

  // Of the loop, before it.
  ir::Node* copy() {
    ir::for_each_node(*node_->blocks()[0], [&](const ir::Node*) { walk_.work(); });
    ir::Node* made = walk_.graph_.copy_node(*node_);
    made->insert_before(node_);
    walk_.label_copy(made->blocks()[0]->first(), nullptr, walk_.labels_of(*node_->blocks()[0]));
    return made;
  }

  bool leaves_options_out() const { return walk_.unfollowed_.contains(site()); }
  Site site() const { return walk_.site_of(node_); }

  // A list that is carried whole keeps its place among the carried values.
  static bool keeps_place(const Plan& plan) {
    return plan.kind == Plan::Kind::contents && plan.contents->whole && plan.contents->kind == Cell::Kind::list &&
           !plan.contents->layout;
  }

  // ---- One trip

  Ends walk_body(ir::Node* loop) {
    ir::Block* body = loop->blocks()[0];
    Ends ends;
    const auto carry = [&](ir::Value* before, const ir::TypeRef& type) {
      loop->add_input(before);
      ir::Value* inside = body->add_input(type);
      walk_.known_[inside] = Abstract::of(inside);
      return inside;
    };
    const std::size_t given = loop->inputs().size() - 2;
    const Cells entered = entered_cells();
    for (std::size_t p = 0; p < entered.size(); ++p)
      for (const auto& [identity, same] : identities(entered[p])) outer_.emplace(p, identity);
    for (const auto& [i, plan] : plan_.carried) {
      const Abstract& entry = entries_.at(i);
      const auto keep = [&](ir::Value* before, const ir::TypeRef&) {
        if (loop->input(i + 2) != before) loop->replace_input(i + 2, before);
        return body->inputs()[i + 1];
      };
      ends.heads[i] = keeps_place(plan) ? instance(plan, &entry, loop, keep) : instance(plan, &entry, loop, carry);
    }
    for (const auto& [id, plan] : plan_.cells) {
      if (plan.layout) hold_elements(id);
      ends.head_cells[id] = instance(plan, Abstract::of_cell(id), loop, carry);
    }
    std::vector<ir::Value*> flags;
    for (ir::Value* flag : flags_of(entered, loop)) flags.push_back(carry(flag, flag->type()));
    give_identities(heads(ends), flags);
    walk_.heap_.open();
    for (const auto& [id, cell] : ends.head_cells) walk_.set_state(id, Cell(cell));
    for (std::size_t i = 0; i < given; ++i) {
      ir::Value* inside = body->inputs()[i + 1];
      if (!plan_.carried.contains(i)) {
        walk_.known_[inside] = Abstract::of(inside);
        continue;
      }
      if (keeps_place(plan_.carried.at(i))) {
        walk_.know(inside, ends.heads[i]);
        continue;
      }
      walk_.stand_for(inside, ends.heads[i], body->first() ? body->first() : body->return_node());
    }
    walk_.walk(*body);
    for (std::size_t i = 0; i < given; ++i) {
      Abstract end = walk_.look(body->outputs()[i + 1]);
      if (end.code && !is_choice(end)) end = Abstract::of(walk_.leaf(end, body->return_node()));
      if (plan_.carried.contains(i))
        ends.values[i] = is_unknown_tuple(end) ? walk_.as_parts(end, body->return_node()) : end;
      else if (has_cells(end) || end.present)
        walk_.leave(end);
    }
    ends.changes = walk_.heap_.close();
    for (std::size_t i = given; i-- > 0;) {
      if (!plan_.carried.contains(i) || keeps_place(plan_.carried.at(i))) continue;
      body->erase_output(i + 1);
      body->erase_input(i + 1);
    }
    return ends;
  }

  // `abstract` with what is carried in the places that the plan names. Null: it is None, and not there.
  template <class Carry>
  Abstract instance(const Plan& plan, const Abstract* abstract, ir::Node* place, Carry& carry) {
    using enum Plan::Kind;
    switch (plan.kind) {
      case nothing: return *abstract;
      case value:
        return Abstract::of(carry(abstract ? abstract->value : place ? undefined(plan.type, place) : nullptr, plan.type));
      case parts: {
        std::vector<Abstract> made;
        for (std::size_t i = 0; i < plan.parts.size(); ++i)
          made.push_back(instance(plan.parts[i], abstract ? &(*abstract->parts)[i] : nullptr, place, carry));
        return Abstract::of_parts(std::move(made), abstract ? abstract->type : plan.type);
      }
      case option: {
        ir::Value* before = place ? presence(*abstract, place) : nullptr;
        ir::Value* present = carry(before, ir::simple_type(ir::TypeKind::boolean));
        return Abstract::of_option(present, instance(plan.parts[0], content(*abstract), place, carry), site());
      }
      case choice:
        return Abstract::of_choice(
            carry(place ? code_of(plan, abstract, place) : nullptr, ir::simple_type(ir::TypeKind::integer)), plan.options,
            site());
      case contents: break;
    }
    std::set<Site> sites = plan_sites_;
    ir::TypeRef type = plan.type;
    if (abstract) {
      walk_.add_sites(*abstract, sites);
      type = walk_.heap_.origin(*abstract->cell).type;
    }
    Cell cell = abstract ? instance(*plan.contents, *abstract, place, carry) : fresh(*plan.contents, type, place, carry);
    const CellId made = walk_.add_cell(std::move(cell), type, std::move(sites));
    add_elements(made, abstract);
    return Abstract::of_cell(made);
  }

  // Of a list that is carried in columns.
  void add_elements(CellId list, const Abstract* before) {
    if (!walk_.heap_.at(list).layout) return;
    walk_.heap_.add_elements(list, elements_);
    if (before) walk_.heap_.add_elements(list, walk_.elements_of(*before->cell));
    if (repeats_ || (before && walk_.repeats(*before->cell))) walk_.heap_.set_repeats(list);
  }

  // Of a list of before the loop that is carried in columns. It has nothing in common with another such list but what they were
  // seen to get; what lists get that are new in each trip isn't known by its name afterwards.
  void hold_elements(CellId list) {
    walk_.heap_.add_elements(list, walk_.elements_of(list));
    if (makes_lists_in_columns()) walk_.heap_.add_elements(list, elements_);
    if (repeats_ || walk_.repeats(list)) walk_.heap_.set_repeats(list);
  }

  static bool has_layout(const Plan& plan) {
    return any_has_layout(plan.parts) || (plan.contents && (plan.contents->layout || any_has_layout(plan.contents->items)));
  }
  static bool any_has_layout(const std::vector<Plan>& plans) {
    return std::ranges::any_of(plans, [](const Plan& plan) { return has_layout(plan); });
  }

  bool makes_lists_in_columns() const {
    return std::ranges::any_of(plan_.carried, [](const auto& entry) { return has_layout(entry.second); }) ||
           std::ranges::any_of(plan_.cells, [](const auto& entry) { return any_has_layout(entry.second.items); });
  }

  template <class Carry>
  Cell fresh(const CellPlan& plan, const ir::TypeRef& type, ir::Node* place, Carry& carry) {
    Cell cell{.kind = plan.kind, .whole = plan.whole, .keys = plan.keys};
    if (!plan.may_miss.empty()) return instance_of_keys(plan, cell, place, carry);
    if (plan.whole) cell.made = carry(place ? undefined(type, place) : nullptr, type);
    for (const Plan& item : plan.items) cell.items.push_back(instance(item, nullptr, place, carry));
    return cell;
  }

  ir::Value* code_of(const Plan& plan, const Abstract* choice, ir::Node* place) {
    std::vector<Abstract> options = plan.options;
    return choice && is_choice(*choice) ? walk_.code_in(*choice, options, place) : constant_before(place, {std::int64_t{0}});
  }

  static ir::Value* undefined(const ir::TypeRef& type, ir::Node* place) {
    return node_before(place, "prim::Uninitialized", {}, {&type, 1})->output();
  }
  static ir::Value* presence(const Abstract& abstract, ir::Node* place) {
    return abstract.present ? abstract.present : constant_before(place, {!abstract.is_none()});
  }

  template <class Carry>
  Cell instance_of(const CellPlan& plan, const Abstract* list, const ir::TypeRef& type, ir::Node* place, Carry& carry) {
    if (list) return instance(plan, *list, place, carry);
    std::vector<ir::Value*> nothing(plan.layout ? column_types(*plan.layout).size() : 1);
    if (plan.layout) return carried_columns(plan, nothing, carry);
    return {.whole = true, .made = carry(nullptr, type)};
  }

  // Of a dictionary that is `before` when the loop begins.
  template <class Carry>
  Cell instance_of_keys(const CellPlan& plan, const Cell& before, ir::Node* place, Carry& carry) {
    // After a loop in which each trip sets all keys they stand in the order of the first trip.
    const bool all_there = !place && runs_ && std::ranges::find(plan.there_at_end, false) == plan.there_at_end.end();
    const bool unordered = before.unordered || (all_there ? plan.unordered_at_first : plan.unordered);
    Cell cell{.kind = Cell::Kind::dict, .keys = plan.keys, .unordered = unordered};
    for (std::size_t i = 0; i < plan.keys.size(); ++i) {
      const Abstract* item = item_of(before, plan.keys[i]);
      ir::Value* present = nullptr;
      if (plan.may_miss[i])
        present = carry(place ? presence_in(before, item, place) : nullptr, ir::simple_type(ir::TypeKind::boolean));
      const bool is_there = !place && runs_ && plan.there_at_end[i];  // after the loop
      cell.present.push_back(is_there ? nullptr : present);
      cell.items.push_back(instance(plan.items[i], item, place, carry));
    }
    if (std::ranges::none_of(cell.present, [](const ir::Value* present) { return present; })) cell.present.clear();
    walk_.keys_may_miss_ = walk_.keys_may_miss_ || !cell.present.empty();
    return cell;
  }
  static const Abstract* item_of(const Cell& dict, const ir::Constant& key) {
    return dict.items.empty() ? nullptr : dict.find(key);
  }
  static ir::Value* presence_in(const Cell& dict, const Abstract* item, ir::Node* place) {
    ir::Value* present = item ? dict.presence(item) : nullptr;
    return present ? present : constant_before(place, {item != nullptr});
  }

  template <class Carry>
  Cell carried_columns(const CellPlan& plan, const std::vector<ir::Value*>& before, Carry& carry) {
    const std::vector<ir::TypeRef> types = column_types(*plan.layout);
    Cell cell{.whole = true, .layout = std::make_shared<const Layout>(*plan.layout)};
    for (std::size_t i = 0; i < types.size(); ++i) cell.columns.push_back(carry(before[i], types[i]));
    return cell;
  }

  template <class Carry>
  Cell instance(const CellPlan& plan, const Abstract& of_cell, ir::Node* place, Carry& carry) {
    Cell cell = walk_.heap_.at(*of_cell.cell);
    const CellOrigin origin = walk_.heap_.origin(*of_cell.cell);
    const ir::TypeRef& type = origin.type;
    if (plan.whole && plan.kind == Cell::Kind::dict) {
      const Cell table = place ? walk_.table_of(cell, type, origin.sites, place) : cell;
      std::vector<Abstract> lists;
      for (std::size_t i = 0; i < plan.items.size(); ++i) {
        const ir::TypeRef list = ir::list_of(type->elements[i]);
        const Abstract* before = table.is_table() ? &table.items[i] : nullptr;
        const CellId made = walk_.add_cell(instance_of(*plan.items[i].contents, before, list, place, carry), list, origin.sites);
        add_elements(made, before);
        lists.push_back(Abstract::of_cell(made));
      }
      return {.kind = Cell::Kind::dict, .whole = true, .items = std::move(lists)};
    }
    if (plan.layout) {
      std::vector<ir::Value*> columns(column_types(*plan.layout).size());
      if (place) columns = walk_.columns_of(cell, origin.sites, *plan.layout, place);
      return carried_columns(plan, columns, carry);
    }
    if (plan.whole) {
      ir::Value* before = place ? walk_.leaf(of_cell, place) : nullptr;
      return {.kind = cell.kind, .whole = true, .made = carry(before, type)};
    }
    if (!plan.may_miss.empty()) return instance_of_keys(plan, cell, place, carry);
    if (!cell.whole) cell.made = nullptr;
    cell.untouched = cell.untouched || plan.untouched;
    for (std::size_t i = 0; i < plan.items.size(); ++i) cell.items[i] = instance(plan.items[i], &cell.items[i], place, carry);
    return cell;
  }

  // ---- What differs after a trip

  bool widen(const Ends& ends) {
    bool more = false;
    const Cells heads_before = heads(ends);
    for (auto& [i, plan] : plan_.carried) more = widen(plan, ends.heads.at(i), ends.values.at(i), ends, true) || more;
    for (const auto& [id, changed] : ends.changes) {
      if (!existed(id)) continue;
      const auto head = ends.head_cells.find(id);
      const Cell before = head == ends.head_cells.end() ? walk_.heap_.at(id) : head->second;
      auto plan = plan_.cells.find(id);
      CellPlan fresh{.items = std::vector<Plan>(before.items.size())};
      const bool differs =
          widen(plan == plan_.cells.end() ? fresh : plan->second, before, *changed, walk_.heap_.origin(id), ends);
      if (differs && plan == plan_.cells.end()) plan_.cells.emplace(id, std::move(fresh));
      more = more || differs;
    }
    return more || meet(heads_before, ends);
  }

  // ---- Names that may mean one list

  using Cells = std::vector<std::optional<CellId>>;  // of the carried values that are cells, in order; none where one is None

  // What of a value is carried as the contents of a cell.
  static void find_cells(const Plan& plan, const Abstract* abstract, Cells& cells) {
    if (plan.kind == Plan::Kind::contents) cells.push_back(abstract ? abstract->cell : std::nullopt);
    if (plan.kind == Plan::Kind::option) return find_cells(plan.parts[0], abstract ? content(*abstract) : nullptr, cells);
    for (std::size_t i = 0; i < plan.parts.size(); ++i)
      find_cells(plan.parts[i], abstract ? &(*abstract->parts)[i] : nullptr, cells);
  }

  Cells entered_cells() const {
    Cells cells;
    for (const auto& [i, plan] : plan_.carried) find_cells(plan, &entries_.at(i), cells);
    return cells;
  }
  Cells cells_at_end(const Ends& ends) const {
    Cells cells;
    for (const auto& [i, plan] : plan_.carried) find_cells(plan, &ends.values.at(i), cells);
    return cells;
  }
  Cells heads(const Ends& ends) const {
    Cells cells;
    for (const auto& [i, plan] : plan_.carried) find_cells(plan, &ends.heads.at(i), cells);
    return cells;
  }

  // Notes which carried cells end a trip as one list, or as one from outside of the loop. True if some were not known yet.
  bool meet(const Cells& heads, const Ends& ends) {
    const Cells last = cells_at_end(ends);
    if (last.size() != heads.size()) {  // the plan has grown
      meeting_.clear();
      outer_.clear();
      return true;
    }
    const std::size_t known = meeting_.size() + outer_.size() + elements_.size() + repeats_;
    note_elements(last, ends);
    const auto meets = [&](std::optional<CellId> a, std::optional<CellId> b) {
      if (!a || !b) return false;
      const Identities &one = walk_.heap_.identities(*a), &other = walk_.heap_.identities(*b);
      return std::ranges::any_of(one, [&](const auto& entry) { return other.contains(entry.first); });
    };
    for (std::size_t p = 0; p < last.size(); ++p) {
      for (const auto& [identity, same] : identities(last[p]))
        if (was_outside(identity)) outer_.emplace(p, identity);
      for (std::size_t q = 0; q < last.size(); ++q) {
        if (p < q && meets(last[p], last[q])) meeting_.emplace(p, q);
        if (p == q || !meets(last[p], heads[q])) continue;  // p goes on with what q was
        const auto of_q = outer_;
        for (const auto& [place, identity] : of_q)
          if (place == q) outer_.emplace(p, identity);
      }
    }
    return meeting_.size() + outer_.size() + elements_.size() + repeats_ > known;
  }

  // What items of lists may be that were outside of the loop. A container that is carried under its name and in such a list isn't
  // known to be the same in the next trip.
  void note_elements(const Cells& last, const Ends& ends) {
    std::set<CellId> lists;
    for (const auto& cell : last)
      if (cell) lists.insert(*cell);
    for (const auto& [id, plan] : plan_.cells) lists.insert(id);
    std::set<Identity> held;
    walk_.heap_.reopen(ends.changes);
    for (const CellId list : lists) {
      held.merge(walk_.elements_of(list));
      repeats_ = repeats_ || walk_.repeats(list);
    }
    walk_.heap_.close();
    for (const Identity identity : held)
      if (was_outside(identity)) elements_.insert(identity);
    for (const auto& cell : last)
      for (const auto& [identity, same] : identities(cell))
        if (held.contains(identity)) walk_.leave(walk_.heap_.origin(*cell).sites);
  }

  Identities identities(std::optional<CellId> cell) const { return cell ? walk_.heap_.identities(*cell) : Identities(); }

  bool was_outside(Identity identity) const {
    if (identity < first_identity_) return true;
    const auto cells = walk_.heap_.cells_of(identity);
    return std::ranges::any_of(cells, [&](CellId id) { return walk_.heap_.origin(id).value && existed(id); });
  }

  // For each of `outer_` and `meeting_`, whether it is so: bools that can stand before `place`. None if they aren't carried.
  std::vector<ir::Value*> flags_of(const Cells& cells, ir::Node* place) {
    std::vector<ir::Value*> flags;
    if (!walk_.tracks_names_) return flags;
    const auto flag = [&](ir::Value* so) { flags.push_back(so ? so : constant_before(place, {false})); };
    for (const auto& [p, identity] : outer_) {
      const Identities of_cell = identities(p < cells.size() ? cells[p] : std::nullopt);
      const auto found = of_cell.find(identity);
      if (found != of_cell.end() && !found->second.is_known_in(place->owner())) walk_.leave(walk_.heap_.origin(*cells[p]).sites);
      flag(found == of_cell.end() ? nullptr : found->second.when ? found->second.when : constant_before(place, {true}));
    }
    for (const auto& [p, q] : meeting_) {
      const bool both = q < cells.size() && cells[p] && cells[q];
      for (const std::size_t i : {p, q})
        for (const auto& [identity, same] : both ? identities(cells[i]) : Identities())
          if (!same.is_known_in(place->owner())) walk_.leave(walk_.heap_.origin(*cells[i]).sites);
      flag(both ? walk_.sameness(*cells[p], *cells[q], place) : nullptr);
    }
    return flags;
  }

  // Of cells that stand for the carried ones, in a trip or after the loop. What isn't carried isn't known.
  void give_identities(const Cells& cells, std::span<ir::Value* const> flags) {
    std::vector<Identities> made(cells.size());
    for (std::size_t p = 0; p < cells.size(); ++p) made[p][walk_.heap_.new_identity()] = {};
    std::size_t flag = 0;
    const auto next = [&] { return flags.empty() ? Sameness{.known = false} : Sameness{.when = flags[flag++]}; };
    for (const auto& [p, identity] : outer_) {
      const Sameness same = next();
      if (p < made.size()) made[p][identity] = same;
    }
    for (const auto& [p, q] : meeting_) {
      const Identity shared = walk_.heap_.new_identity();
      const Sameness same = next();
      if (q < made.size()) made[p][shared] = made[q][shared] = same;
    }
    for (std::size_t p = 0; p < cells.size(); ++p)
      if (cells[p]) walk_.heap_.set_identities(*cells[p], std::move(made[p]));
  }

  bool existed(CellId id) const { return walk_.existed(id, *node_, cells_before_); }

  const Cell& end_state(CellId id, const Ends& ends) const {
    const auto found = ends.changes.find(id);
    return found == ends.changes.end() ? walk_.heap_.at(id) : *found->second;
  }

  bool widen(Plan& plan, const Abstract& head, const Abstract& end, const Ends& ends, bool carried) {
    using enum Plan::Kind;
    if (plan.kind == option) {
      if (!is_settled(end)) refuse(head, end);
      const Abstract* inner = content(end);
      return inner && widen(plan.parts[0], head.parts->front(), *inner, ends, carried);
    }
    if (!same(head, end) && (head.present || end.present || head.is_none() != end.is_none())) {
      make_option(plan, head, end, ends, carried);
      return true;
    }
    const bool labels = (is_choice(head) || is_undefined_label(head)) && (is_choice(end) || is_undefined_label(end));
    if (plan.kind == choice || (plan.kind == nothing && labels && (is_choice(head) || is_choice(end)) && !same(head, end))) {
      if (!labels || leaves_options_out()) refuse(head, end);
      const std::size_t known = plan.options.size();
      for (const Abstract* each : {&head, &end})
        if (is_choice(*each)) walk_.code_in(*each, plan.options, node_);
      plan.kind = choice;
      return plan.options.size() > known;
    }
    if (plan.kind == value) {
      if (end.followed()) walk_.leave(end);
      const ir::TypeRef type = join_types(plan.type, end.value->type());
      const bool wider = !ir::equal(*type, *plan.type);
      plan.type = type;
      return wider;
    }
    if (plan.kind == nothing) {
      if (same(head, end)) return false;
      if (head.parts && end.parts && head.parts->size() == end.parts->size()) {
        plan.kind = parts;
        plan.parts.resize(head.parts->size());
      } else if (head.cell && end.cell && carried) {
        plan.kind = contents;
        plan.contents = std::make_shared<CellPlan>(CellPlan{.items = std::vector<Plan>(walk_.heap_.at(*head.cell).items.size())});
      } else if (!head.followed() && !end.followed()) {
        plan.kind = value;
        plan.type = join_types(head.value->type(), end.value->type());
        return true;
      } else {
        refuse(head, end);
      }
      widen(plan, head, end, ends, carried);
      return true;
    }
    if (plan.kind == parts) {
      if (!end.parts || end.parts->size() != plan.parts.size()) refuse(head, end);
      bool more = false;
      for (std::size_t i = 0; i < plan.parts.size(); ++i)
        more = widen(plan.parts[i], (*head.parts)[i], (*end.parts)[i], ends, carried) || more;
      return more;
    }
    if (!end.cell) refuse(head, end);
    walk_.add_sites(end, plan_sites_);
    // The head's cell as it was when the trip began.
    return widen(*plan.contents, walk_.heap_.at(*head.cell), end_state(*end.cell, ends), walk_.heap_.origin(*head.cell), ends);
  }

  // What was carried so far, if anything, is carried together with whether it is there.
  void make_option(Plan& plan, const Abstract& head, const Abstract& end, const Ends& ends, bool carried) {
    const bool cells = has_cells(head) || has_cells(end);
    if (leaves_options_out() || !is_settled(head) || !is_settled(end) || (cells && !carried)) refuse(head, end);
    if (plan.kind == Plan::Kind::contents &&
        (plan.contents->layout || (plan.contents->whole && plan.contents->kind == Cell::Kind::dict)))
      refuse(head, end);  // where it is None there are no columns to carry
    in_option_ = true;
    const Abstract *before = content(head), *after = content(end);
    Plan inner = before ? std::move(plan) : all_of(*after, ends);
    if (before && after) widen(inner, *before, *after, ends, carried);
    plan = {.kind = Plan::Kind::option, .parts = {std::move(inner)}};
  }

  Plan all_of(const Abstract& abstract, const Ends& ends) {
    using enum Plan::Kind;
    if (abstract.present || abstract.is_none()) refuse(abstract, abstract);
    if (abstract.cell) {
      walk_.add_sites(abstract, plan_sites_);
      const Cell& cell = end_state(*abstract.cell, ends);
      const ir::TypeRef& type = walk_.heap_.origin(*abstract.cell).type;
      // Only the identity of the container itself is carried, not that of containers in it.
      if (!cell.is_settled() || cell.layout || cell.is_table() || std::ranges::any_of(cell.items, has_cells) ||
          (cell.kind == Cell::Kind::list && !is_plain_element(type->elements[0])))
        refuse(abstract, abstract);
      CellPlan contents{.whole = cell.kind == Cell::Kind::list, .kind = cell.kind, .keys = cell.keys};
      for (std::size_t i = 0; i < cell.items.size() && !contents.whole; ++i)
        contents.items.push_back(all_of(cell.items[i], ends));
      return {.kind = Plan::Kind::contents, .type = type, .contents = std::make_shared<CellPlan>(std::move(contents))};
    }
    if (is_choice(abstract)) {
      Plan plan{.kind = Plan::Kind::choice};
      walk_.code_in(abstract, plan.options, node_);
      return plan;
    }
    if (!abstract.parts) return {.kind = value, .type = abstract.value->type()};
    Plan plan{.kind = parts, .type = abstract.type};
    for (const Abstract& part : *abstract.parts) plan.parts.push_back(all_of(part, ends));
    return plan;
  }

  bool widen(CellPlan& plan, const Cell& head, const Cell& end, const CellOrigin& origin, const Ends& ends) {
    if (head.kind == Cell::Kind::dict && (plan.whole || head.whole || end.whole))
      return widen_table(plan, head, end, origin, ends);
    if (plan.whole && !plan.layout) return false;
    if (head.kind == Cell::Kind::list && (head.whole || end.whole || head.items.size() != end.items.size())) {
      if (head.whole && end.whole && head.made == end.made && head.columns == end.columns) return false;
      if (needs_columns(origin.type))
        if (const auto layout = in_option_ ? std::nullopt : layout_of(head, end, origin.type, ends))
          return widen_layout(plan, *layout);
      if (plan.layout) walk_.leave(origin.sites);
      if (!is_plain_element(origin.type->elements[0])) walk_.leave(origin.sites);
      plan = {.whole = true};
      return true;
    }
    const bool keeps_keys = same_keys(head.keys, end.keys) && head.present == end.present;
    if (head.kind == Cell::Kind::dict && (!plan.may_miss.empty() || !keeps_keys)) return widen_keys(plan, head, end, ends);
    if (!keeps_keys) walk_.leave(origin.sites);
    bool more = false;
    if (head.untouched != end.untouched && !plan.untouched) more = plan.untouched = true;
    for (std::size_t i = 0; i < plan.items.size(); ++i)
      more = widen(plan.items[i], head.items[i], end.items[i], ends, false) || more;
    return more;
  }

  // Of the items of both, as they are at the end of a trip.
  std::optional<Layout> layout_of(const Cell& head, const Cell& end, const ir::TypeRef& type, const Ends& ends) {
    auto layout = walk_.layout_of_items(head, type);
    if (!layout && (head.whole || !head.items.empty())) return std::nullopt;
    walk_.heap_.reopen(ends.changes);
    auto joint = walk_.layout_of_items(end, type);
    walk_.heap_.close();
    if (!layout || (!joint && !end.whole && end.items.empty())) return layout ? layout : joint;
    return joint && walk_.widen(*layout, *joint) ? layout : std::nullopt;
  }

  bool widen_layout(CellPlan& plan, const Layout& layout) {
    if (plan.layout && ContainerWalk::keeps_codes(layout, *plan.layout)) return false;
    if (plan.layout && !walk_.widen(*plan.layout, layout)) throw TooMuchWork{};
    if (!plan.layout) plan = {.whole = true, .layout = layout};
    return true;
  }

  static bool keeps_order(const std::vector<ir::Constant>& keys, const std::vector<ir::Constant>& later) {
    std::size_t last = 0;
    for (const ir::Constant& key : later) {
      const auto found = std::ranges::find_if(keys, [&](const ir::Constant& known) { return ir::equal(known, key); });
      if (found == keys.end()) continue;
      const auto at = static_cast<std::size_t>(found - keys.begin());
      if (at < last) return false;
      last = at;
    }
    return true;
  }

  bool widen_keys(CellPlan& plan, const Cell& head, const Cell& end, const Ends& ends) {
    bool more = plan.may_miss.empty();
    if (more) {
      plan.kind = Cell::Kind::dict;
      plan.keys = head.keys;
      plan.unordered_at_first = end.unordered;
      for (const Abstract& item : head.items) plan.may_miss.push_back(head.presence(&item) != nullptr);
    }
    const auto set = [&](auto&& flag, bool value) {
      if (!value || flag) return;
      flag = more = true;
    };
    if (!keeps_order(plan.keys, end.keys)) {  // one was removed and came again
      set(plan.unordered, true);
      set(plan.unordered_at_first, true);
    }
    for (std::size_t i = 0; i < plan.keys.size(); ++i) {
      const Abstract *before = item_of(head, plan.keys[i]), *after = item_of(end, plan.keys[i]);
      set(plan.may_miss[i], !after || end.presence(after));
      if (before && after) more = widen(plan.items[i], *before, *after, ends, false) || more;
    }
    for (std::size_t i = 0; i < end.keys.size(); ++i) {
      if (std::ranges::any_of(plan.keys, [&](const ir::Constant& key) { return ir::equal(key, end.keys[i]); })) continue;
      plan.keys.push_back(end.keys[i]);
      plan.items.push_back(all_of(end.items[i], ends));
      plan.may_miss.push_back(true);
      more = true;
    }
    // A key that came in some trip is the last one then: the order is known if there are no others that may.
    const auto missing = std::ranges::count(plan.may_miss, true);
    set(plan.unordered, end.unordered || missing > 1 || (missing == 1 && !plan.may_miss.back()));
    return more;
  }

  bool widen_table(CellPlan& plan, const Cell& head, const Cell& end, const CellOrigin& origin, const Ends& ends) {
    if (in_option_) walk_.leave(origin.sites);
    if (head.is_table() && end.is_table() && !plan.whole && same(head.items[0], end.items[0]) &&
        same(head.items[1], end.items[1]) && !ends.changes.contains(*head.items[0].cell) &&
        !ends.changes.contains(*head.items[1].cell))
      return false;
    for (const Cell* dict : {&head, &end})
      if (!dict->is_table() && !walk_.may_become_table(*dict, origin.type)) walk_.leave(origin.sites);
    bool more = !plan.whole;
    if (more) {
      plan = {.whole = true, .items = std::vector<Plan>(2), .kind = Cell::Kind::dict};
      for (Plan& list : plan.items)
        list = {.kind = Plan::Kind::contents, .contents = std::make_shared<CellPlan>(CellPlan{.whole = true})};
    }
    CellPlan& values = *plan.items[1].contents;
    const ir::TypeRef type = ir::list_of(origin.type->elements[1]);
    if (!needs_columns(type)) return more;
    const auto list_of_values = [&](const Cell& dict, bool at_end) {
      if (!dict.is_table()) return Cell{.items = dict.items};
      return at_end ? end_state(*dict.items[1].cell, ends) : walk_.heap_.at(*dict.items[1].cell);
    };
    const auto layout = layout_of(list_of_values(head, false), list_of_values(end, true), type, ends);
    if (!layout) walk_.leave(origin.sites);
    return widen_layout(values, *layout) || more;
  }

  [[noreturn]] void refuse(const Abstract& head, const Abstract& end) const {
    std::set<Site> sites;
    walk_.add_sites(head, sites);
    walk_.add_sites(end, sites);
    if (sites.empty()) sites.insert(site());
    walk_.leave(std::move(sites));
  }

  // ---- After the loop

  void finish(const Ends& ends) {
    ir::Block* body = node_->blocks()[0];
    std::vector<ir::Value*> carried;
    std::size_t erased = 0;
    for (const auto& [i, plan] : plan_.carried) {
      const std::size_t before = carried.size();
      collect(plan, &ends.values.at(i), ends, carried);
      if (keeps_place(plan)) {
        body->return_node()->replace_input(i + 1 - erased, carried.back());
        carried.resize(before);
      } else {
        ++erased;
      }
    }
    for (const auto& [id, plan] : plan_.cells) collect(plan, end_state(id, ends), walk_.heap_.origin(id), ends, carried);
    const Cells last = cells_at_end(ends);
    std::ranges::copy(flags_of(last, body->return_node()), std::back_inserter(carried));
    const std::size_t own = node_->outputs().size();
    for (ir::Value* value : carried) body->add_output(value);
    walk_.put_operands(body->return_node());
    for (std::size_t i = 0; i < own; ++i)
      if (!plan_.carried.contains(i)) walk_.known_[node_->output(i)] = Abstract::of(node_->output(i));
    const auto take = [&](ir::Value*, const ir::TypeRef& type) {
      ir::Value* output = node_->add_output(type);
      walk_.known_[output] = Abstract::of(output);
      return output;
    };
    std::map<std::size_t, Abstract> results;
    std::map<CellId, Cell> cells;
    for (const auto& [i, plan] : plan_.carried) {
      const auto keep = [&](ir::Value*, const ir::TypeRef&) { return node_->output(i); };
      const Abstract& entry = entries_.at(i);
      results[i] = keeps_place(plan) ? instance(plan, &entry, nullptr, keep) : instance(plan, &entry, nullptr, take);
    }
    for (const auto& [id, plan] : plan_.cells) cells[id] = instance(plan, Abstract::of_cell(id), nullptr, take);
    for (auto& [id, cell] : cells) walk_.set_state(id, std::move(cell));
    Cells left;
    for (const auto& [i, plan] : plan_.carried) find_cells(plan, &results.at(i), left);
    std::vector<ir::Value*> flags;
    if (walk_.tracks_names_)
      for (std::size_t i = 0; i < outer_.size() + meeting_.size(); ++i)
        flags.push_back(take(nullptr, ir::simple_type(ir::TypeKind::boolean)));
    give_identities(left, flags);
    for (auto result = results.rbegin(); result != results.rend(); ++result) {
      const std::size_t i = result->first;
      if (keeps_place(plan_.carried.at(i))) {
        walk_.know(node_->output(i), result->second);
        continue;
      }
      ++walk_.changes_;
      walk_.stand_for(node_->output(i), result->second, node_);
      node_->erase_output(i);
      node_->erase_input(i + 2);
    }
  }

  // Null: it is None.
  void collect(const Plan& plan, const Abstract* end, const Ends& ends, std::vector<ir::Value*>& values) {
    using enum Plan::Kind;
    ir::Node* place = node_->blocks()[0]->return_node();
    if (plan.kind == option) {
      values.push_back(presence(*end, place));
      return collect(plan.parts[0], content(*end), ends, values);
    }
    if (plan.kind == choice) values.push_back(code_of(plan, end, place));
    if (plan.kind == value) values.push_back(end ? end->value : undefined(plan.type, place));
    for (std::size_t i = 0; i < plan.parts.size(); ++i) collect(plan.parts[i], end ? &(*end->parts)[i] : nullptr, ends, values);
    if (plan.kind != contents) return;
    if (end) return collect(*plan.contents, end_state(*end->cell, ends), walk_.heap_.origin(*end->cell), ends, values);
    if (plan.contents->whole) values.push_back(undefined(plan.type, place));
    if (!plan.contents->may_miss.empty()) return collect(*plan.contents, Cell{}, {}, ends, values);
    for (const Plan& item : plan.contents->items) collect(item, nullptr, ends, values);
  }

  void collect(const CellPlan& plan, const Cell& end, const CellOrigin& origin, const Ends& ends,
               std::vector<ir::Value*>& values) {
    ir::Node* place = node_->blocks()[0]->return_node();
    if (plan.whole && plan.kind == Cell::Kind::dict) {
      walk_.heap_.reopen(ends.changes);
      const Cell table = walk_.table_of(end, origin.type, origin.sites, place);
      const HeapChanges now = walk_.heap_.close();
      for (std::size_t i = 0; i < plan.items.size(); ++i) {
        const CellId list = *table.items[i].cell;
        const auto found = now.find(list);
        collect(*plan.items[i].contents, found == now.end() ? walk_.heap_.at(list) : *found->second, walk_.heap_.origin(list),
                ends, values);
      }
      return;
    }
    if (!plan.may_miss.empty()) {
      plan.there_at_end.clear();
      for (std::size_t i = 0; i < plan.keys.size(); ++i) {
        const Abstract* item = item_of(end, plan.keys[i]);
        plan.there_at_end.push_back(item && !end.presence(item));
        if (plan.may_miss[i]) values.push_back(presence_in(end, item, place));
        collect(plan.items[i], item, ends, values);
      }
      return;
    }
    if (plan.layout) {
      walk_.heap_.reopen(ends.changes);
      std::ranges::copy(walk_.columns_of(end, origin.sites, *plan.layout, place), std::back_inserter(values));
      walk_.heap_.close();
      return;
    }
    if (plan.whole) values.push_back(end.made ? end.made : walk_.make(end, origin, node_->blocks()[0]->return_node()));
    for (std::size_t i = 0; i < plan.items.size(); ++i) collect(plan.items[i], &end.items[i], ends, values);
  }

  ContainerWalk& walk_;
  ir::Node* node_;
  std::map<std::size_t, Abstract> entries_{};  // of the carried values, before the loop
  LoopPlan plan_{};
  std::set<Site> plan_sites_{};
  std::set<std::pair<std::size_t, std::size_t>> meeting_{};  // places of carried cells that may be one list
  std::set<std::pair<std::size_t, Identity>> outer_{};       // what a carried cell may be of what is outside
  // What items of carried lists may be: those of two of them, the same.
  std::set<Identity> elements_{walk_.heap_.new_identity()};
  bool repeats_ = false;    // an object may stand in two places of one of them
  bool in_option_ = false;  // something that is carried may be None
  bool runs_ = runs_at_least_once(*node_);
  Identity first_identity_ = walk_.heap_.new_identity();
  std::size_t cells_before_ = walk_.heap_.size();
};

void ContainerWalk::loop(ir::Node* node) {
  for (std::size_t i = 0; i < 2; ++i) {  // the number of trips and the first condition
    const auto at = known_.find(node->input(i));
    if (at != known_.end() && at->second.followed()) throw TooMuchWork{};
  }
  if (!unroll_here(node)) Loop(*this, node).run();
}

// The copies are visited next.
bool ContainerWalk::unroll_here(ir::Node* node) {
  const std::vector<Site> labels = labels_of(*node->blocks()[0]);
  ir::Node* const before = node->previous();
  ir::Block* const block = node->owner();
  const auto label = [&](const ir::Node* first) { label_copy(first, node, labels); };
  if (stacks_anything(*node) || !unroll_loop(node, budget_, label)) return false;
  next_ = before ? before->next() : block->first();
  ++changes_;
  return true;
}

}  // namespace compatcheck::passes

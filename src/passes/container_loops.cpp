// Loops that aren't unrolled. Copies of the body are walked until it is known what an iteration leaves unchanged;
// everything else is carried: item by item where a container keeps its structure, as a whole list where it doesn't.
#include "passes/container_loops.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "passes/rewrite.h"
#include "passes/stack_in_loops.h"

namespace compatcheck::passes {

void ContainerWalk::Loop::run() {
  for (std::size_t i = 0; i < loop_.initial_values().size(); ++i) {
    Abstract entry = walk_.look(loop_.initial_values()[i]);
    if (is_unknown_tuple(entry)) {
      entry = walk_.as_parts(entry, node_);
      walk_.know(walk_.stand_in_for(node_, ir::LoopView::first_initial_value + i), entry);
    }
    const bool optional = ir::is(node_->output(i)->type(), ir::TypeKind::optional) && !leaves_options_out();
    const bool carried = entry.followed() || (optional && is_settled(entry)) || is_label(entry) || is_undefined_label(entry);
    if (!carried && !awaits_container(entry)) continue;
    plan_.carried[i];
    entries_[i] = std::move(entry);
  }
  // Whether a write may change a container depends on its later reads, and later iterations read it. The walk removes these
  // reads, so a copy of the loop keeps them.
  ir::Node* later_iterations = nullptr;
  if (writes_containers(loop_.body()) || !plan_.carried.empty()) {
    const bool elsewhere = std::exchange(walk_.writes_under_names_, false);
    find_plan();
    if (walk_.writes_under_names_) later_iterations = copy();
    if (later_iterations) walk_.done_.insert(later_iterations);  // its operands don't count as later reads
    walk_.writes_under_names_ = walk_.writes_under_names_ || elsewhere;
  }
  Ends ends = walk_body(node_);
  if (widen(ends)) throw NothingToLeaveOut{};
  if (later_iterations) later_iterations->erase();
  finish(ends);
}

// Whether it's a container, or an Optional, that a `return` in the loop gives.
bool ContainerWalk::Loop::awaits_container(const Abstract& entry) const {
  using enum ir::TypeKind;
  if (defined(&entry)) return false;
  const ir::TypeRef& type = entry.value->type();
  return ir::is(type, list) || ir::is(type, dict) || (ir::is(type, optional) && !leaves_options_out());
}

bool ContainerWalk::Loop::writes_containers(const ir::Block& block) const {
  bool writes = false;
  const auto writes_container = [](const ir::Node& node) {
    const auto visit = visits().find(node.op());
    return visit != visits().end() && visit->second == &ContainerWalk::write && !node.inputs().empty() &&
           !ir::is(node.input(0)->type(), ir::TypeKind::tensor);
  };
  // From a read on, a list that isn't in columns yet may have to be, and a key that may be missing is there.
  const auto needs_other_form = [&](const ir::Node& node) {
    if (node.inputs().empty()) return false;
    const ir::TypeRef& type = node.input(0)->type();
    return ir::is(type, ir::TypeKind::dict) ? walk_.keys_may_miss_ : needs_columns(type) && !is_plain_element(type->elements[0]);
  };
  ir::for_each_node(block, [&](const ir::Node* node) {
    writes = writes || node->is("prim::SetAttr") || writes_container(*node) || needs_other_form(*node);
  });
  return writes;
}

void ContainerWalk::Loop::find_plan() {
  constexpr int most_rounds = 16;
  for (int round = 0; round < most_rounds; ++round) {
    const std::size_t changes = walk_.changes_, dropped = walk_.dropped_.size(), there = walk_.there_.size();
    const Budget budget = walk_.options_.budget;  // copies are thrown away
    ir::Node* trial = copy();
    Ends ends = walk_body(trial);
    const bool more = widen(ends);
    walk_.options_.budget = budget;
    walk_.dropped_.resize(dropped);
    walk_.there_.erase(walk_.there_.begin() + static_cast<std::ptrdiff_t>(there), walk_.there_.end());
    walk_.changes_ = changes;
    trial->erase();
    if (!more) return;
  }
  throw TooMuchWork{};
}

// Returns a copy of the loop, inserted before it.
ir::Node* ContainerWalk::Loop::copy() {
  ir::for_each_node(loop_.body(), [&](const ir::Node*) { walk_.work(); });
  ir::Node* made = walk_.graph_.copy_node(*node_);
  made->insert_before(node_);
  walk_.label_copy(ir::LoopView(*made).body().first(), nullptr, walk_.labels_of(loop_.body()));
  return made;
}

// A list that is carried whole keeps its place among the carried values.
bool ContainerWalk::Loop::keeps_place(const Plan& plan) {
  return plan.kind == Plan::Kind::contents && plan.contents->whole && plan.contents->kind == Cell::Kind::list &&
         !plan.contents->layout;
}

// ---- After the loop

void ContainerWalk::Loop::finish(const Ends& ends) {
  ir::Block* body = &loop_.body();
  std::vector<ir::Value*> carried;
  std::size_t erased = 0;
  for (const auto& [i, plan] : plan_.carried) {
    const std::size_t before = carried.size();
    collect(plan, &ends.values.at(i), ends, carried);
    if (keeps_place(plan)) {
      loop_.set_next_value(i - erased, carried.back());
      carried.resize(before);
    } else {
      ++erased;
    }
  }
  for (auto& [id, plan] : plan_.cells) collect(plan, end_state(id, ends), walk_.heap_.origin(id), ends, carried);
  const Cells last = cells_in(ends.values);
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
    const auto keep = [&](ir::Value*, const ir::TypeRef& type) {
      node_->output(i)->set_type(type);
      return node_->output(i);
    };
    const Abstract& entry = entries_.at(i);
    results[i] = keeps_place(plan) ? instance(plan, &entry, nullptr, keep) : instance(plan, &entry, nullptr, take);
  }
  for (const auto& [id, plan] : plan_.cells) cells[id] = instance(plan, id, nullptr, take);
  for (auto& [id, cell] : cells) walk_.set_state(id, std::move(cell));
  std::vector<ir::Value*> flags;
  if (walk_.options_.tracks_names)
    for (std::size_t i = 0; i < outer_.size() + meeting_.size(); ++i)
      flags.push_back(take(nullptr, ir::simple_type(ir::TypeKind::boolean)));
  give_identities(cells_in(results), flags);
  for (auto result = results.rbegin(); result != results.rend(); ++result) {
    const std::size_t i = result->first;
    if (keeps_place(plan_.carried.at(i))) {
      walk_.know(node_->output(i), result->second);
      continue;
    }
    ++walk_.changes_;
    walk_.stand_for(node_->output(i), result->second, node_);
    node_->erase_output(i);
    loop_.erase_initial_value(i);
  }
}

// Adds what is carried of a value at the end of an iteration; `end` is null where it is None or undefined.
void ContainerWalk::Loop::collect(const Plan& plan, const Abstract* end, const Ends& ends, std::vector<ir::Value*>& values) {
  using enum Plan::Kind;
  end = defined(end);
  ir::Node* place = loop_.body().return_node();
  if (plan.kind == option) {
    values.push_back(end ? presence(*end, place) : constant_before(place, {false}));
    return collect(plan.parts[0], end ? content(*end) : nullptr, ends, values);
  }
  if (plan.kind == choice) values.push_back(code_of(plan, end, place));
  if (plan.kind == value) values.push_back(end ? end->value : undefined(plan.type, place));
  for (std::size_t i = 0; i < plan.parts.size(); ++i) collect(plan.parts[i], end ? &(*end->parts)[i] : nullptr, ends, values);
  if (plan.kind != contents) return;
  if (end) return collect(*plan.contents, end_state(*end->cell, ends), walk_.heap_.origin(*end->cell), ends, values);
  collect_undefined(*plan.contents, plan.type, ends, values);
}

void ContainerWalk::Loop::collect_undefined(CellPlan& plan, const ir::TypeRef& type, const Ends& ends,
                                            std::vector<ir::Value*>& values) {
  if (plan.layout || !plan.may_miss.empty()) return collect(plan, Cell{}, {}, ends, values);
  if (plan.whole && plan.kind == Cell::Kind::list) values.push_back(undefined(type, loop_.body().return_node()));
  for (const Plan& item : plan.items) collect(item, nullptr, ends, values);
}

void ContainerWalk::Loop::collect(CellPlan& plan, const Cell& end, const CellOrigin& origin, const Ends& ends,
                                  std::vector<ir::Value*>& values) {
  ir::Node* place = loop_.body().return_node();
  if (plan.whole && plan.kind == Cell::Kind::dict) {
    walk_.heap_.reopen(ends.changes);
    const Cell table = walk_.table_of(end, origin.type, origin.sites, place);
    const HeapChanges now = walk_.heap_.close();
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
      const CellId list = *table.items[i].cell;
      const auto found = now.find(list);
      collect(*plan.items[i].contents, found == now.end() ? walk_.heap_.at(list) : *found->second, walk_.heap_.origin(list), ends,
              values);
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
  if (plan.whole) values.push_back(end.made ? end.made : walk_.make(end, origin, place));
  for (std::size_t i = 0; i < plan.items.size(); ++i) collect(plan.items[i], &end.items[i], ends, values);
}

void ContainerWalk::loop(ir::Node* node) {
  const ir::LoopView loop(*node);
  for (const ir::Value* decides : {loop.trip_count(), loop.condition()}) {
    const auto at = known_.find(decides);
    if (at != known_.end() && at->second.followed()) throw NothingToLeaveOut{};
  }
  if (!unroll_here(node)) Loop(*this, node).run();
}

// The copies are visited next.
bool ContainerWalk::unroll_here(ir::Node* node) {
  const std::vector<Site> labels = labels_of(ir::LoopView(*node).body());
  ir::Node* const before = node->previous();
  ir::Block* const block = node->owner();
  const auto label = [&](const ir::Node* first) { label_copy(first, node, labels); };
  if (stacks_anything(*node) || !unroll_loop(node, options_.budget, label)) return false;
  visit_next(before ? before->next() : block->first());
  return true;
}

}  // namespace compatcheck::passes

#include "passes/write_plan.h"

#include <algorithm>

#include "ir/value_name.h"
#include "passes/effects.h"
#include "passes/functional_form.h"
#include "passes/list_form.h"
#include "passes/rewrite.h"
#include "passes/state.h"

namespace compatcheck::passes {
namespace {

std::string described(const ir::Value* value) { return ir::described(*value); }

// "the dict `losses`", "a dict".
std::string named(const std::string& kind, const ir::Value* value) {
  const std::string text = described(value);
  return text.starts_with("a ") || text.starts_with("the ") ? text : kind + " " + text;
}

bool is_container_value(const ir::Value* value) {
  using enum ir::TypeKind;
  return !is_tensor(value) && !ir::is(value->type(), generator) && !ir::is(value->type(), storage);
}

bool makes_bundle(const ir::Node& node) {
  return node.is("prim::ListConstruct") || node.is("prim::TupleConstruct") || node.is("prim::DictConstruct");
}

}  // namespace

WritePlan::WritePlan(const ir::Graph& graph, std::shared_ptr<const Aliases> aliases, const schema::Registry& registry,
                     const ir::Watch& watch)
    : registry_(registry),
      watch_(watch),
      aliases_(std::move(aliases)),
      views_(graph, *aliases_),
      lifetimes_(graph),
      returned_(returned_inputs(graph)) {
  for (const ir::Node* write : writes()) {
    std::string why = own_obstacle(*write);
    const Family family = family_written(write);
    if (family) written_.insert(family);
    if (why.empty()) {
      targets_[write] = write->input(*written_by_form(*write, registry_));
      continue;
    }
    for (std::size_t operand : written_operands(*write)) block(this->family(write->input(operand)), why, write);
    own_[write] = std::move(why);
  }
  block_what_grows(graph);
  find_puts();
  find_clashes();
  block_what_stays_changes();
  index_blocks();
}

// Where a value of a written family is read, its views are made again from the root on, and the root is put together of the views
// that were written last. This counts the nodes that each read may cost.
void WritePlan::block_what_grows(const ir::Graph& graph) {
  constexpr std::size_t deepest_view = 100, most_made_again = 1'000'000;
  struct Reads {
    std::size_t count = 0, depth = 0;    // of values of the family; the depths of what is read, added up
    std::size_t deepest = 0, parts = 0;  // of one value; outputs of one split
  };
  std::unordered_map<Family, Reads> reads;
  std::vector<Family> families;
  const auto count = [&](const ir::Node* node, const ir::Value* value) {
    const Family family = this->family(value);
    if (!family || !written_.contains(family)) return;
    const std::size_t depth = views_.depth(value);
    if (depth > deepest_view)
      block(family, "writes memory of which views of views are taken more than " + std::to_string(deepest_view) + " deep");
    auto [found, is_new] = reads.try_emplace(family);
    if (is_new) families.push_back(family);
    found->second.count += value->uses().size();
    found->second.depth += value->uses().size() * depth;
    found->second.deepest = std::max(found->second.deepest, depth);
    if (views_.source(value)) found->second.parts = std::max(found->second.parts, node->outputs().size());
  };
  ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
    for (const ir::Value* output : node->outputs()) count(node, output);
  });
  for (const ir::Node* write : writes()) {
    const Family family = family_written(write);
    const auto found = reads.find(family);
    if (found == reads.end()) continue;
    // Each branch and loop around a write returns the root.
    for (const ir::Block* block = write->owner(); block && block != family->block(); block = block->parent())
      ++found->second.count;
  }
  std::size_t made_again = 0;
  for (const Family family : families) {
    const Reads& read = reads[family];
    const std::size_t copies = read.depth + read.count * (read.deepest + read.parts);
    if (made_again + copies > most_made_again)
      block(family, "writes memory of which too many views would be made again");
    else
      made_again += copies;
  }
}

WritePlan::Family WritePlan::family_written(const ir::Node* write) const {
  const auto operands = written_operands(*write);
  return operands.size() == 1 && !write->is("prim::SetAttr") ? family(write->input(operands[0])) : nullptr;
}

std::string WritePlan::obstacle(const ir::Node* write) const {
  if (const auto own = own_.find(write); own != own_.end()) return own->second;
  const auto blocked = blocked_.find(family_written(write));
  return blocked == blocked_.end() ? std::string() : blocked->second.why;
}

const ir::Node* WritePlan::cause(const ir::Node* write) const {
  if (own_.contains(write)) return nullptr;
  const auto blocked = blocked_.find(family_written(write));
  return blocked == blocked_.end() || blocked->second.cause == write ? nullptr : blocked->second.cause;
}

bool WritePlan::follows(const ir::Value* value) const {
  const Family family = this->family(value);
  return family && written_.contains(family) && !blocked_.contains(family);
}

ir::Value* WritePlan::target(const ir::Node* write) const {
  const auto target = targets_.find(write);
  return target != targets_.end() && follows(target->second) ? target->second : nullptr;
}

bool WritePlan::is_bundle(const ir::Value* value) const {
  return value->producer() && makes_bundle(*value->producer()) && !aliases_->written(value);
}

std::span<ir::Value* const> WritePlan::written_inside(const ir::Node* node) const {
  const auto roots = inside_.find(node);
  return roots == inside_.end() ? std::span<ir::Value* const>() : roots->second;
}

std::vector<ir::LostWrite> WritePlan::written_inputs() const {
  std::vector<ir::LostWrite> lost;
  for (const ir::Node* write : writes()) {
    const ir::Value* target = this->target(write);
    if (!target || write->is("aten::requires_grad_") || write->is("aten::detach_")) continue;  // these write no elements
    for (LocationId id : aliases_->locations(target)) {
      const MemoryLocation& location = aliases_->location(id);
      if (location.kind == MemoryLocation::Kind::input && !returned_.contains(location.name))
        lost.push_back({.name = location.name, .op = write->op(), .location = write->location(), .module = write->module()});
    }
  }
  return lost;
}

// ---- A write by itself

std::string WritePlan::own_obstacle(const ir::Node& write) const {
  if (write.is("prim::SetAttr") && !ir::constant_of(write.input(0)))
    return "writes an attribute of an object that the model makes as it runs";
  if (const auto* why = write.attribute(state_obstacle)) return *why->get<std::string>();
  if (write.is("prim::SetAttr"))
    return "the model writes attribute '" + std::string(attribute_name(write)) + "', which keeps its value from call to call";
  const auto operands = written_operands(write);
  if (operands.empty()) return "writes memory that its arguments don't show";
  const ir::Value* target = write.input(operands[0]);
  if (operands.size() != 1) return "writes more than one of its arguments";
  if (!is_tensor(target) && !has_list_form(write)) return container_obstacle(target);
  return obstacle_of_target(write, target);
}

std::string WritePlan::obstacle_of_target(const ir::Node& write, const ir::Value* target) const {
  if (std::string why = memory_obstacle(target); !why.empty()) return why;
  if (!written_by_form(write, registry_)) return "has no form that leaves its argument as it is";
  for (const ir::Value* view = target; views_.source(view); view = views_.parent(view))
    if (const auto why = put_back_obstacle(view); !why.empty())
      return "writes to " + described(target) + ", which is " + std::string(why);
  const ir::Value* root = family(target);
  if (is_expanded_part(root))
    return "writes to " + described(target) + ", which may be an expanded view, whose elements share memory";
  if (write.schema()->is_out())
    if (std::string why = out_obstacle(write, target); !why.empty()) return why;
  if (changes_its_sizes(write))
    if (std::string why = size_change_obstacle(write, target); !why.empty()) return why;
  for (const ir::Block* block = write.owner(); block != root->block(); block = block->parent())
    if (!block->owner()->is("prim::If") && !block->owner()->is("prim::Loop"))
      return "writes to " + described(target) + " inside of " + block->owner()->op();
  return {};
}

std::string WritePlan::memory_obstacle(const ir::Value* target) const {
  const auto memory = aliases_->locations(target);
  if (memory.empty()) return "writes memory of unknown origin";
  for (LocationId id : memory) {
    const MemoryLocation& location = aliases_->location(id);
    if (location.kind == MemoryLocation::Kind::attribute)
      return "the model writes attribute '" + location.name + "', which keeps its value from call to call";
    if (location.kind == MemoryLocation::Kind::anything) return "writes memory that more values share than can be followed";
    if (location.kind != MemoryLocation::Kind::fresh && location.kind != MemoryLocation::Kind::input)
      return "writes to a constant, which keeps its value from call to call";
  }
  return {};
}

// out= gives the tensor the result's sizes. A view that stays finds the result only if the sizes stay. Results have known sizes
// only in exported programs, which take no others; TorchScript files keep none of those that a trace met.
std::string WritePlan::out_obstacle(const ir::Node& write, const ir::Value* target) const {
  const auto &before = target->type()->tensor.sizes, &after = write.output()->type()->tensor.sizes;
  const auto are_known = [](const auto& sizes) {
    return sizes && std::ranges::all_of(*sizes, [](const auto& size) { return size.has_value(); });
  };
  if (are_known(before) && before == after) return {};
  if (views_.source(target)) return "writes its result to " + described(target) + ", a view of " + described(family(target));
  const ir::Value* view = view_that_outlives(target, write);
  return view ? "may change the sizes of " + described(target) + ", of which " + described(view) + " stays a view"
              : std::string();
}

// x.t_() where nothing else leads to x's memory that could tell.
std::string WritePlan::size_change_obstacle(const ir::Node& write, const ir::Value* target) const {
  if (views_.source(target)) return "changes the sizes of " + described(target) + ", which is a view";
  if (write.owner() != target->block())
    return "changes the sizes of " + described(target) + ", which is made outside of this block";
  const ir::Value* view = view_that_outlives(target, write);
  return view ? "changes the sizes of " + described(target) + ", of which " + described(view) + " stays a view" : std::string();
}

// A view that was made before the write and is read after it, be it only of a view; null if there is none.
const ir::Value* WritePlan::view_that_outlives(const ir::Value* value, const ir::Node& write) const {
  std::vector<const ir::Value*> waiting{value};
  while (!waiting.empty()) {
    const ir::Value* source = waiting.back();
    waiting.pop_back();
    for (const ir::Use& use : source->uses()) {
      watch_.step();
      if (lifetimes_.place(use.user) >= lifetimes_.place(&write)) continue;
      for (const ir::Value* view : use.user->outputs()) {
        if (views_.source(view) != source) continue;
        const auto uses = view->uses();
        if (std::any_of(uses.begin(), uses.end(),
                        [&](const ir::Use& read) { return lifetimes_.reads_after(view, read, &write); }))
          return view;
        waiting.push_back(view);
      }
    }
  }
  return nullptr;
}

std::string WritePlan::container_obstacle(const ir::Value* target) const {
  if (!ir::is(target->type(), ir::TypeKind::dict) && !ir::is(target->type(), ir::TypeKind::list))
    return "writes to " + described(target) + ", which isn't a tensor";
  if (std::string why = memory_obstacle(target); !why.empty()) return why;
  if (ir::is(target->type(), ir::TypeKind::dict))
    return "changes " + named("the dict", target) + " in place, where its items aren't known or something else may hold it";
  return "changes " + named("the list", target) + " in a way that no expression of lists gives";
}

// ---- Values of different families that may share memory

void WritePlan::find_puts() {
  for (const ir::Node* write : writes()) {
    const auto operands = written_operands(*write);
    if (operands.empty() || is_tensor(write->input(operands[0]))) continue;
    for (std::size_t i = 0; i < write->inputs().size(); ++i)
      if (i != operands[0])
        for (LocationId id : aliases_->reach(write->input(i))) puts_[id].push_back(write);
  }
}

void WritePlan::find_clashes() {
  for (LocationId id = 0; aliases_->any_writes() && id < aliases_->location_count(); ++id)
    if (!aliases_->writers_of(id).empty() && aliases_->location(id).kind != MemoryLocation::Kind::anything) find_clashes(id);
}

// A new value no longer sees a later write to its memory that stays in place.
void WritePlan::block_what_stays_changes() {
  for (bool any = true; any;) {
    any = false;
    for (LocationId id = 0; aliases_->any_writes() && id < aliases_->location_count(); ++id) {
      if (aliases_->location(id).kind == MemoryLocation::Kind::anything) continue;
      const Writers writers = writers_of(id);
      if (writers.of_one_family) continue;
      for (const auto& [write, family] : writers.all) {
        const ir::Node* change =
            blocked_.contains(family) || own_.contains(write) ? nullptr : later_in_place(writers, write, family);
        if (!change) continue;
        block(family, "writes memory that a later write changes in place", change);
        any = true;
      }
    }
  }
}

// Returns a write of another family, after this write or in the same loop; null if there is none.
const ir::Node* WritePlan::later_in_place(const Writers& writers, const ir::Node* write, Family family) const {
  for (const auto& [other, its_family] : writers.all) {
    watch_.step();
    if (its_family == family || (!own_.contains(other) && !blocked_.contains(its_family))) continue;
    if (lifetimes_.place(other) >= lifetimes_.place(write) || Lifetimes::repeated_without(other, write, nullptr)) return other;
  }
  return nullptr;
}

WritePlan::Writers WritePlan::writers_of(LocationId id) const {
  Writers writers;
  for (const ir::Node* write : aliases_->writers_of(id)) {
    writers.all.emplace_back(write, family_written(write));
    writers.of_one_family = writers.of_one_family && writers.all.back().second == writers.all.front().second;
  }
  return writers;
}

void WritePlan::find_clashes(LocationId id) {
  const Writers writers = writers_of(id);
  for (const ir::Value* observer : aliases_->observers(id)) {
    watch_.step();
    if (observer->unused()) continue;
    if (!is_bundle(observer)) {
      check(id, writers, observer, observer);
      continue;
    }
    for (const ir::Value* item : observer->producer()->inputs()) {
      watch_.step();
      const auto reach = aliases_->reach(item);
      if (std::binary_search(reach.begin(), reach.end(), id)) check(id, writers, observer, item);
    }
  }
  // The contents of an attribute may be read at any time.
  const auto puts = puts_.find(id);
  if (puts == puts_.end()) return;
  for (const ir::Node* put : puts->second) {
    if (!put->is("prim::SetAttr")) continue;
    for (const auto& [write, family] : writers.all)
      if (lifetimes_.place(write) > lifetimes_.place(put) || Lifetimes::repeated_without(write, put, nullptr))
        block(family, "writes memory that attribute " + std::string(attribute_name(*put)) + " keeps");
  }
}

// Uses of `observer` read `made`: the observer itself, or an item of it.
void WritePlan::check(LocationId id, const Writers& writers, const ir::Value* observer, const ir::Value* made) {
  const Family family = this->family(made);
  if (writers.of_one_family && family == writers.all.front().second) return;
  for (const auto& [write, other] : writers.all) {
    watch_.step();
    // Skips families that have an obstacle already: the first one stays.
    if (family == other || (is_settled(family) && is_settled(other)) || !clashes(id, observer, made, write)) continue;
    const ir::Value* target = write->input(written_operands(*write)[0]);
    const bool unsure = is_tensor(target) && is_tensor(made) && lifetimes_.made(made) < lifetimes_.made(target);
    block(other,
          unsure ? "writes to " + described(target) + ", which may or may not share memory with " + described(made)
                 : "writes to " + described(target) + ", which is also read as " + described(observer),
          observer->producer());
    block(family, "writes to memory that is also written as " + described(target), write);
  }
}

bool WritePlan::clashes(LocationId id, const ir::Value* observer, const ir::Value* made, const ir::Node* write) const {
  if (!may_hold(id, made, write)) return false;
  const auto uses = observer->uses();
  return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
    return !reads_only_form(*use.user, use.operand) && lifetimes_.reads_after(observer, use, write);
  });
}

// Whether `made` may lead to the memory that `write` changes when it does.
bool WritePlan::may_hold(LocationId id, const ir::Value* made, const ir::Node* write) const {
  const ir::Node* maker = aliases_->location(id).maker;
  const Family written = family_written(write);
  const std::ptrdiff_t start = lifetimes_.made(made);
  // A value that a body makes anew each time is held by older containers only after it was put into them.
  if (maker && written && written->producer() == maker && start < lifetimes_.place(maker)) {
    if (!is_container_value(made)) return false;
    const auto puts = puts_.find(id);
    return puts != puts_.end() && std::any_of(puts->second.begin(), puts->second.end(), [&](const ir::Node* put) {
             return lifetimes_.place(put) < lifetimes_.place(write) || Lifetimes::repeated_without(put, write, maker->owner());
           });
  }
  return start < lifetimes_.place(write);
}

void WritePlan::index_blocks() {
  for (const ir::Node* write : writes()) {
    const ir::Value* target = this->target(write);
    if (!target) continue;
    ir::Value* root = views_.root(target);
    for (const ir::Block* block = write->owner(); block != root->block(); block = block->parent()) {
      auto& roots = inside_[block->owner()];
      if (std::find(roots.begin(), roots.end(), root) == roots.end()) roots.push_back(root);
    }
  }
}

}  // namespace compatcheck::passes

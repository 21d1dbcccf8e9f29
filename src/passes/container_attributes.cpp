// Attributes of the program's objects, and what a call makes of them.
#include <algorithm>
#include <array>
#include <string_view>

#include "passes/attributes.h"
#include "passes/container_walk.h"
#include "passes/effects.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

std::optional<AttributeKey> key_of_access(const ir::Node& access) {
  const auto* object = known<ir::ObjectConstant>(access.input(0));
  return object ? std::optional(AttributeKey{object->object, std::string(attribute_name(access))}) : std::nullopt;
}

void ContainerWalk::load_attributes() {
  Site site = first_attribute_site;
  ir::Node* place = graph_.top()->first() ? graph_.top()->first() : graph_.top()->return_node();
  for (const auto& [key, path] : options_.attributes) {
    ir::Value* made = constant_before(place, *stored_attribute(*options_.program, key.first, key.second));
    if (holds_memory(made->type())) made->producer()->set_attribute("path", {path});
    const ir::Constant& value = *ir::constant_of(made);
    if (const auto* type = attribute_type(*options_.program, key.first, key.second);
        type && !value.is_none() && !value.get<ir::TensorView>())
      made->set_type(ir::without_optional(*type));
    labels_[made->producer()] = site++;
    holders_[key] = add_cell({.kind = Cell::Kind::object, .untouched = true, .items = {look(made)}}, made->type(), {});
  }
  keep_snapshot();
}

// Leaves each holder whose lists and dictionaries aren't certainly distinct at the end. `safely` gives every step a node.
void ContainerWalk::check_distinct_lists(ir::Node* /*end*/) {
  for (ir::Node* node : *graph_.top()) {
    if (!node->is("prim::CreateObject") || node->output()->type()->name != holder_of_distinct_lists) continue;
    const Abstract object = look(node->output());
    std::set<CellId> seen;
    const auto visit = [&](const auto& self, const Abstract& held) -> void {
      work();
      if (held.parts)
        for (const Abstract& part : *held.parts) self(self, part);
      if (!held.followed() && is_container_or_tuple(held.value->type())) leave(object);
      if (!held.cell) return;
      if (!seen.insert(*held.cell).second) leave(object);
      for (const CellId other : heap_.sharing(*held.cell))
        if (seen.contains(other)) leave(object);
      for (const Abstract& item : heap_.at(*held.cell).items) self(self, item);
    };
    visit(visit, object);
  }
}

void ContainerWalk::keep_snapshot() {
  snapshot_.clear();
  for (CellId id = 0; id < heap_.size(); ++id) snapshot_.push_back(heap_.at(id));
}

// Whether what `now` leads to is what `before` led to when the snapshot was made.
bool ContainerWalk::is_as_before(const Abstract& before, const Abstract& now) const {
  if (!before.followed() || !now.followed()) return same(before, now);
  if (before.present != now.present || before.code != now.code) return false;
  if (before.parts && now.parts)
    return std::ranges::equal(*before.parts, *now.parts,
                              [&](const Abstract& a, const Abstract& b) { return is_as_before(a, b); });
  if (!before.cell || !now.cell || *before.cell >= snapshot_.size()) return false;
  const Cell &old = snapshot_[*before.cell], &cell = heap_.at(*now.cell);
  if (old.kind != cell.kind || old.whole != cell.whole || !same_keys(old.keys, cell.keys) || old.present != cell.present ||
      old.unordered != cell.unordered)
    return false;
  if (old.whole && cell.kind == Cell::Kind::list) return old.made == cell.made && old.columns == cell.columns;
  return std::ranges::equal(old.items, cell.items, [&](const Abstract& a, const Abstract& b) { return is_as_before(a, b); });
}

std::map<AttributeKey, AttributeCourse> ContainerWalk::courses() const {
  std::map<AttributeKey, AttributeCourse> courses;
  for (const auto& [key, holder] : holders_)
    courses[key] = {read_before_write_.contains(key), !is_as_before(snapshot_[holder].items[0], heap_.at(holder).items[0])};
  return courses;
}

std::optional<AttributeKey> ContainerWalk::attribute_key(const ir::Node* node) const {
  const auto key = key_of_access(*node);
  return key && holders_.contains(*key) ? key : std::nullopt;
}

bool ContainerWalk::is_nearly_constant(const AttributeKey& key) const {
  struct Reached {
    const ir::Value* value;
    bool rounded;
  };
  std::vector<Reached> reached;
  const auto collect = [&](const auto& self, const Abstract& abstract) -> void {
    if (!abstract.followed()) return reached.push_back({abstract.value, false});
    const Cell* cell = abstract.cell ? &heap_.at(*abstract.cell) : nullptr;
    if (cell && cell->made && cell->whole) return reached.push_back({cell->made, false});
    for (const ir::Value* column : cell ? cell->columns : std::vector<ir::Value*>()) reached.push_back({column, false});
    for (const ir::Value* marker : {abstract.present, abstract.code})
      if (marker) reached.push_back({marker, false});
    for (const Abstract& item : cell ? cell->items : *abstract.parts) self(self, item);
    for (const ir::Value* present : cell ? cell->present : std::vector<ir::Value*>())
      if (present) reached.push_back({present, false});
  };
  collect(collect, heap_.at(holders_.at(key)).items[0]);
  constexpr auto sizes = std::to_array<std::string_view>({"aten::size", "aten::dim", "aten::numel", "aten::len", "prim::shape"});
  constexpr auto settled = std::to_array<std::string_view>({"prim::dtype", "prim::device", "aten::is_floating_point"});
  const auto among = [](const ir::Node& node, const auto& names) { return std::ranges::find(names, node.op()) != names.end(); };
  std::set<std::pair<const ir::Node*, bool>> seen;
  while (!reached.empty()) {
    auto [value, rounded] = reached.back();
    reached.pop_back();
    const ir::Node* node = value->producer() ? value->producer() : value->block()->owner();
    if (!node || is_random(*node)) return false;  // an input's contents, for one
    if (!seen.emplace(node, rounded).second || among(*node, settled)) continue;
    if (among(*node, sizes)) {
      if (!rounded) return false;
      continue;
    }
    const ir::Node* from = node->inputs().empty() ? nullptr : node->input(0)->producer();
    rounded = rounded || (node->is("aten::round") && from && from->is("aten::log2"));
    for (const ir::Value* input : node->inputs()) reached.push_back({input, rounded});
    for (const ir::Block* block : node->blocks()) {
      for (const ir::Value* output : block->outputs()) reached.push_back({output, rounded});
      ir::for_each_node(*block, [&](const ir::Node* inner) {
        for (const ir::Value* output : inner->outputs()) reached.push_back({output, rounded});
      });
    }
  }
  return true;
}

}  // namespace compatcheck::passes

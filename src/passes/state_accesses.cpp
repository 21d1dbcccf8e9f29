#include "passes/state_accesses.h"

#include <algorithm>
#include <ranges>

#include "passes/effects.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

const ir::ObjectConstant* object_accessed(const ir::Node& access) { return known<ir::ObjectConstant>(access.input(0)); }

// The attributes of all objects that the root leads to, by the first path that leads there.
std::map<AttributeKey, Accessed> attributes_of(const ir::Program& program) {
  std::map<AttributeKey, Accessed> cells;
  std::set<std::uint32_t> seen;
  std::size_t places = 0;
  struct Visit {
    std::uint32_t object;
    std::string prefix;
    std::size_t next = 0;
  };
  std::vector<Visit> path;
  const auto enter = [&](std::uint32_t object, std::string prefix) {
    if (object < program.objects.size() && program.classes.contains(program.objects[object].class_name) &&
        seen.insert(object).second)
      path.push_back({object, std::move(prefix)});
  };
  enter(program.root, {});
  while (!path.empty()) {
    Visit& visit = path.back();
    const ir::Object& object = program.objects[visit.object];
    const auto& attributes = program.classes.at(object.class_name).attributes;
    if (visit.next >= std::min(attributes.size(), object.attributes.size())) {
      path.pop_back();
      continue;
    }
    const auto& declared = attributes[visit.next];
    const ir::Constant& value = object.attributes[visit.next++];
    const std::string name = visit.prefix + declared.name;
    if (const auto* inner = value.get<ir::ObjectConstant>()) {
      enter(inner->object, name + ".");
      continue;
    }
    cells[{visit.object, declared.name}] = {.stored = &value, .type = declared.type, .path = name, .place = places++};
    std::vector<std::pair<std::uint32_t, std::string>> inside;
    for_each_member(value, name, [&](const ir::Constant& member, const std::string& of) {
      if (const auto* held = member.get<ir::ObjectConstant>()) inside.emplace_back(held->object, of + ".");
    });
    for (auto& [held, prefix] : std::views::reverse(inside)) enter(held, std::move(prefix));
  }
  return cells;
}

}  // namespace

std::string text_of_key(const ir::Constant& key) {
  if (const auto* text = key.get<std::string>()) return *text;
  const auto* number = key.get<std::int64_t>();
  return number ? std::to_string(*number) : std::string();
}

bool same_view(const ir::Constant& one, const ir::Constant& other) {
  const auto *a = one.get<ir::TensorView>(), *b = other.get<ir::TensorView>();
  return a && b && a->storage == b->storage && a->offset == b->offset && a->sizes == b->sizes && a->strides == b->strides &&
         a->dtype == b->dtype;
}

std::string obstacle_of_place(const ir::Node& set) {
  for (const ir::Block* block = set.owner(); block->owner(); block = block->parent())
    if (!block->owner()->is("prim::If") && !block->owner()->is("prim::Loop"))
      return "it is written inside of " + block->owner()->op();
  return {};
}

StateAccesses::StateAccesses(const ir::Graph& graph, const ir::Program& program, const ir::Watch& watch)
    : watch_(watch), aliases_(graph, &program, watch), cells_(attributes_of(program)) {
  if (!aliases_.any_writes()) return;
  ir::for_each_node(*graph.top(), [&](ir::Node* node) {
    watch_.step();
    if (!is_attribute_access(*node)) return;
    const auto* object = object_accessed(*node);
    const auto cell = object ? cells_.find({object->object, std::string(attribute_name(*node))}) : cells_.end();
    if (cell != cells_.end())
      (node->is("prim::GetAttr") ? cell->second.reads : cell->second.sets).push_back(node);
    else if (!object && !(node->input(0)->producer() && node->input(0)->producer()->is("prim::CreateObject")))
      of_unknown_objects_.insert(std::string(attribute_name(*node)));
  });
  for (auto& [key, cell] : cells_)
    for (const LocationId id : memory_of(cell))
      for (ir::Node* write : aliases_.writers_of(id))
        if (!write->is("prim::SetAttr") && std::ranges::find(cell.writes, write) == cell.writes.end())
          cell.writes.push_back(write);
}

std::vector<AttributeKey> StateAccesses::written() const {
  std::vector<AttributeKey> written;
  for (const auto& [key, cell] : cells_)
    if (cell.is_written()) written.push_back(key);
  std::ranges::sort(written, {}, [&](const AttributeKey& key) { return cells_.at(key).place; });
  return written;
}

std::vector<LocationId> StateAccesses::memory_of(const Accessed& cell) const {
  if (cell.reads.empty() || !holds_memory(cell.type)) return {};
  return aliases_.reach(cell.reads.front()->output());
}

std::string StateAccesses::sharing(const AttributeKey& key, const Accessed& cell) const {
  for (const LocationId id : memory_of(cell)) {
    if (aliases_.writers_of(id).empty()) continue;
    const MemoryLocation& location = aliases_.location(id);
    if (location.kind == MemoryLocation::Kind::anything) return "more values share its memory than can be followed";
    if (location.kind == MemoryLocation::Kind::input)
      return "it may hold input " + location.name + " itself, which a later call would write";
    for (const ir::Value* observer : aliases_.observers(id)) {
      watch_.step();
      const ir::Node* maker = observer->producer();
      if (!maker) continue;
      if (maker->is("prim::Constant") && !known<ir::ObjectConstant>(observer)) return "it shares memory with a constant";
      if (!maker->is("prim::GetAttr")) continue;
      const auto* object = object_accessed(*maker);
      const auto other = object ? cells_.find({object->object, std::string(attribute_name(*maker))}) : cells_.end();
      if (other == cells_.end()) {
        if (ir::is(observer->type(), ir::TypeKind::named) || ir::is(observer->type(), ir::TypeKind::module)) continue;
        return "it shares memory with an attribute of an object that is known only when the model runs";
      }
      if (other->first == key) continue;
      const bool one = cell.sets.empty() && other->second.sets.empty() && same_view(*cell.stored, *other->second.stored);
      if (!one) return "it shares memory with attribute " + other->second.path;
    }
  }
  return {};
}

}  // namespace compatcheck::passes

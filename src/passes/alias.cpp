#include "passes/alias.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "passes/effects.h"
#include "schema/schema.h"

namespace compatcheck::passes {
namespace {

constexpr std::size_t most_entries = 2'000'000;  // in all sets; a model whose values share memory has a few per node
constexpr std::size_t locations_in_a_step = 32;  // visiting so many takes as long as another step of the watch

// A list of tensors is written as a list (append), or tensor by tensor (_foreach_add_).
bool writes_items(const ir::Node& node, std::size_t operand) {
  constexpr auto list_operators = std::to_array<std::string_view>(
      {"aten::Delete", "aten::_set_item", "aten::add_", "aten::append", "aten::clear", "aten::extend", "aten::insert",
       "aten::mul_", "aten::pop", "aten::remove", "aten::reverse", "aten::sort"});
  return ir::is_tensor_list(node.input(operand)->type()) && node.schema() &&
         !std::binary_search(list_operators.begin(), list_operators.end(), node.op());
}

// A value without memory of its own.
bool has_no_memory(const ir::Constant& constant) {
  return constant.is_none() || constant.get<std::int64_t>() || constant.get<double>() || constant.get<bool>() ||
         constant.get<std::complex<double>>() || constant.get<std::string>() || constant.get<ir::DeviceConstant>();
}

}  // namespace

Aliases::Aliases(const ir::Graph& graph, const ir::Program* program, const ir::Watch& watch) : program_(program), watch_(watch) {
  collect(*graph.top());
  if (any_writes()) solve(graph);
}

std::shared_ptr<const Aliases> Aliases::of(const ir::Graph& graph, const ir::Program* program, const ir::Watch& watch) {
  auto kept = std::dynamic_pointer_cast<const Aliases>(graph.analysis());
  return kept && kept->program_ == program ? kept : std::make_shared<const Aliases>(graph, program, watch);
}

std::shared_ptr<const Aliases> Aliases::of(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch) {
  auto found = of(std::as_const(graph), program, watch);
  graph.keep(found);
  return found;
}

void Aliases::collect(const ir::Block& block) {
  ir::for_each_node(block, [&](ir::Node* node) {
    if (writes(*node)) writers_.push_back(node);
  });
}

void Aliases::solve(const ir::Graph& graph) {
  sets_.resize(graph.value_limit());
  for (ir::Value* input : graph.inputs()) {
    if (!holds_memory(input->type())) continue;
    const LocationId id = add_location({MemoryLocation::Kind::input, nullptr, input->name(), {}, {}, nullptr});
    if (is_container(input->type())) {
      const LocationId inside = add_location({MemoryLocation::Kind::input, nullptr, input->name(), {}, {}, nullptr});
      insert(locations_[inside].contents, inside);  // lists of lists
      insert(locations_[id].contents, inside);
    }
    insert(set_of(input), id);
  }
  // Loops and writes to containers carry memory backwards, so once through is not always enough.
  do {
    changed_ = false;
    flow(*graph.top());
  } while (changed_);
  for (Set& set : sets_) add_parts(set);
  for (std::size_t id = 0; id < locations_.size(); ++id) add_parts(locations_[id].contents);
  ir::for_each_node(*graph.top(), [&](ir::Node* node) {
    for (ir::Value* output : node->outputs()) values_.push_back(output);
    for (ir::Block* inner : node->blocks()) values_.insert(values_.end(), inner->inputs().begin(), inner->inputs().end());
  });
  values_.insert(values_.end(), graph.inputs().begin(), graph.inputs().end());
  observe();
  if (entries_ > most_entries) take_for_one();
}

// Notes for each location the values that lead to it.
void Aliases::observe() {
  if (!close_contents()) {
    entries_ = most_entries + 1;
    return;
  }
  find_writers();
  observers_.resize(locations_.size());
  reach_written_.resize(sets_.size());
  Set made;
  for (const ir::Value* value : values_)
    if ((entries_ += reach(value, made).size()) > most_entries) return;
  std::vector<std::optional<bool>> written(closed_.size());  // per entry of `closed_`: whether anything reachable is written
  for (ir::Value* value : values_) {
    const auto found = reach(value, made);
    watch_.step(found.size() / locations_in_a_step);
    for (LocationId id : found) observers_[id].push_back(value);
    const auto any_written = [&] {
      return std::any_of(found.begin(), found.end(), [&](LocationId id) { return !writers_of_[id].empty(); });
    };
    const auto own = locations(value);
    const bool alone = own.size() == 1 && closed_of_[own[0]] != leaf;
    std::optional<bool> known = alone ? written[closed_of_[own[0]]] : std::nullopt;
    if (!known) known = any_written();
    if (alone) written[closed_of_[own[0]]] = known;
    reach_written_[value->id()] = *known;
  }
}

// Finds what can be reached from each location, once for all locations that reach each other (Tarjan's strongly connected
// components, each after those that it leads to). Returns false if the sets grow too large.
bool Aliases::close_contents() {
  closed_.clear();
  closed_of_.assign(locations_.size(), leaf);
  struct Visit {
    LocationId id;
    std::size_t next = 0;  // among its contents
  };
  constexpr std::uint32_t unseen = 0;
  std::vector<std::uint32_t> order(locations_.size(), unseen), lowest(locations_.size());
  std::vector<bool> open(locations_.size());
  std::vector<LocationId> stack;
  std::vector<Visit> path;
  std::uint32_t seen = 0;
  std::size_t entries = 0;
  const auto enter = [&](LocationId id) {
    order[id] = lowest[id] = ++seen;
    open[id] = true;
    stack.push_back(id);
    path.push_back({id});
  };
  for (LocationId root = 0; root < locations_.size(); ++root) {
    if (order[root] != unseen || locations_[root].contents.empty()) continue;
    enter(root);
    while (!path.empty()) {
      Visit& visit = path.back();
      const LocationId id = visit.id;
      if (visit.next < locations_[id].contents.size()) {
        const LocationId held = locations_[id].contents[visit.next++];
        if (order[held] == unseen && !locations_[held].contents.empty())
          enter(held);
        else if (open[held])
          lowest[id] = std::min(lowest[id], order[held]);
        continue;
      }
      path.pop_back();
      if (!path.empty()) lowest[path.back().id] = std::min(lowest[path.back().id], lowest[id]);
      if (lowest[id] != order[id]) continue;
      std::vector<LocationId> members;
      do {
        members.push_back(stack.back());
        stack.pop_back();
        open[members.back()] = false;
      } while (members.back() != id);
      if ((entries += close(members)) > most_entries) return false;
    }
  }
  return true;
}

// The members and what they hold, and what can be reached from there. Returns how much that is.
std::size_t Aliases::close(const std::vector<LocationId>& members) {
  const auto place = static_cast<std::uint32_t>(closed_.size());
  for (LocationId member : members) closed_of_[member] = place;
  Set all = members;
  std::vector<std::uint32_t> below;
  for (LocationId member : members)
    for (LocationId held : locations_[member].contents) {
      if (closed_of_[held] == leaf)
        all.push_back(held);
      else if (closed_of_[held] != place)
        below.push_back(closed_of_[held]);
    }
  std::sort(below.begin(), below.end());
  below.erase(std::unique(below.begin(), below.end()), below.end());
  for (const std::uint32_t other : below) all.insert(all.end(), closed_[other].begin(), closed_[other].end());
  watch_.step(all.size() / locations_in_a_step);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  closed_.push_back(std::move(all));
  return closed_.back().size();
}

void Aliases::take_for_one() {
  constexpr LocationId all = 0;
  locations_.assign(1, {MemoryLocation::Kind::anything, nullptr, {}, {all}, {}, nullptr});
  closed_.assign(1, {all});
  closed_of_.assign(1, 0);
  writers_of_.assign(1, writers_);
  observers_.assign(1, {});
  for (ir::Value* value : values_) {
    const bool memory = holds_memory(value->type());
    set_of(value) = memory ? Set{all} : Set{};
    reach_written_[value->id()] = memory;
    if (memory) observers_[all].push_back(value);
  }
}

// ---- Sets

bool Aliases::is_container(const ir::TypeRef& type) {
  using enum ir::TypeKind;
  if (!type) return true;
  switch (type->kind) {
    case tensor:
    case generator:
    case storage:
    case stream: return false;
    case optional: return type->elements.empty() || is_container(type->elements[0]);
    default: return true;
  }
}

bool Aliases::insert(Set& set, LocationId id) {
  const auto at = std::lower_bound(set.begin(), set.end(), id);
  if (at != set.end() && *at == id) return false;
  set.insert(at, id);
  ++entries_;
  return true;
}

Aliases::Set& Aliases::set_of(const ir::Value* value) {
  if (value->id() >= sets_.size()) sets_.resize(value->id() + 1);
  return sets_[value->id()];
}

void Aliases::merge(Set& to, const Set& from) {
  watch_.step(from.size() / locations_in_a_step);
  if (&to == &from || entries_ > most_entries || std::includes(to.begin(), to.end(), from.begin(), from.end())) return;
  Set both;
  both.reserve(to.size() + from.size());
  std::set_union(to.begin(), to.end(), from.begin(), from.end(), std::back_inserter(both));
  entries_ += both.size() - to.size();
  to = std::move(both);
  changed_ = true;
}

void Aliases::assign(const ir::Value* to, const ir::Value* from) {
  if (!holds_memory(to->type()) || !holds_memory(from->type())) return;
  set_of(to), set_of(from);  // both exist before either is referred to
  merge(set_of(to), set_of(from));
}

void Aliases::assign_all_inputs(const ir::Node& node, const ir::Value* to) {
  if (!holds_memory(to->type())) return;
  fresh(to);
  for (const ir::Value* input : node.inputs()) {
    assign(to, input);
    put(to, input);
    if (is_container(input->type())) get(to, input);
  }
}

LocationId Aliases::fresh(const ir::Value* value) {
  auto [at, added] = made_.try_emplace(value, 0);
  if (added) at->second = add_location({MemoryLocation::Kind::fresh, value->producer(), value->name(), {}, {}, nullptr});
  insert(set_of(value), at->second);
  return at->second;
}

void Aliases::put(const ir::Value* container, const ir::Value* item) {
  if (!holds_memory(item->type()) || container == item) return;
  const Set items = set_of(item);
  for (LocationId id : Set(set_of(container))) merge(locations_[id].contents, items);
}

void Aliases::get(const ir::Value* to, const ir::Value* container) {
  if (!holds_memory(to->type())) return;
  for (LocationId id : Set(set_of(container))) merge(set_of(to), Set(locations_[id].contents));
}

void Aliases::add_parts(Set& set) {
  for (LocationId id : Set(set))
    for (LocationId part : locations_[id].parts) insert(set, part);
}

// ---- Constants, objects, attributes

LocationId Aliases::add_location(MemoryLocation location) {
  locations_.push_back(std::move(location));
  return static_cast<LocationId>(locations_.size() - 1);
}

void Aliases::constant(const ir::Value* value, const ir::Constant& constant) {
  insert(set_of(value), location_of(constant, value));
}

LocationId Aliases::location_of(const ir::Constant& constant, const void* identity) {
  if (const auto* object = constant.get<ir::ObjectConstant>()) return object_location(object->object);
  const auto* tensor = constant.get<ir::TensorView>();
  const ir::ContainerIdentity in_file = ir::identity_of(constant);
  if (in_file) identity = containers_.emplace(in_file, identity).first->second;
  const void* key = tensor && tensor->storage ? static_cast<const void*>(tensor->storage.get()) : identity;
  if (auto at = constants_.find(key); at != constants_.end()) return at->second;
  const LocationId id = add_location({MemoryLocation::Kind::constant, nullptr, {}, {}, {}, nullptr});
  constants_[key] = id;
  auto hold = [&](const ir::Constant& item) {
    if (has_no_memory(item)) return;
    const LocationId held = location_of(item, &item);
    insert(locations_[id].contents, held);
  };
  if (const auto* list = constant.get<ir::ListConstant>()) {
    for (const ir::Constant& item : list->items) hold(item);
  } else if (const auto* tuple = constant.get<ir::TupleConstant>()) {
    for (const ir::Constant& item : tuple->items) hold(item);
  } else if (const auto* dict = constant.get<ir::DictConstant>()) {
    for (const auto& [item_key, item] : dict->items) hold(item);
  }
  return id;
}

LocationId Aliases::object_location(std::uint32_t object) {
  if (auto at = objects_.find(object); at != objects_.end()) return at->second;
  const LocationId id = add_location({MemoryLocation::Kind::object, nullptr, {}, {}, {}, nullptr});
  objects_[object] = id;
  object_of_[id] = object;
  return id;
}

Aliases::Set& Aliases::cell(std::uint32_t object, const std::string& attribute) {
  auto [at, added] = cells_.try_emplace({object, attribute});
  Set& memory = at->second;
  if (!program_ && added) {
    if (!unknown_attribute_) {
      unknown_attribute_ = add_location({MemoryLocation::Kind::attribute, nullptr, attribute, {}, {}, nullptr});
      insert(locations_[*unknown_attribute_].contents, *unknown_attribute_);
    }
    insert(memory, *unknown_attribute_);
  }
  if (!added || !program_ || object >= program_->objects.size()) return memory;
  const ir::Object& holder = program_->objects[object];
  const auto known = program_->classes.find(holder.class_name);
  if (known == program_->classes.end()) return memory;
  const auto& attributes = known->second.attributes;
  for (std::size_t i = 0; i < attributes.size() && i < holder.attributes.size(); ++i) {
    if (attributes[i].name != attribute || !holds_memory(attributes[i].type)) continue;
    const LocationId id = location_of(holder.attributes[i], &holder.attributes[i]);
    if (locations_[id].kind == MemoryLocation::Kind::constant) {
      locations_[id].kind = MemoryLocation::Kind::attribute;
      locations_[id].name = attribute;
    }
    insert(memory, id);
  }
  return memory;
}

// ---- Answers

std::span<const LocationId> Aliases::locations(const ir::Value* value) const {
  if (value->id() >= sets_.size()) return {};
  return sets_[value->id()];
}

std::vector<LocationId> Aliases::reach(const ir::Value* value) const {
  Set made;
  const auto found = reach(value, made);
  return {found.begin(), found.end()};
}

std::span<const LocationId> Aliases::reach(const ir::Value* value, Set& made) const {
  const auto own = locations(value);
  const auto last =
      std::ranges::max_element(own, {}, [&](LocationId id) { return closed_of_[id] == leaf ? 0 : closed_of_[id] + 1; });
  if (last == own.end() || closed_of_[*last] == leaf) return own;
  const Set& most = closed_[closed_of_[*last]];  // most often the others, too
  made.clear();
  for (LocationId id : own) {
    if (std::ranges::binary_search(most, id)) continue;
    made.push_back(id);
    if (closed_of_[id] != leaf) made.insert(made.end(), closed_[closed_of_[id]].begin(), closed_[closed_of_[id]].end());
  }
  if (made.empty()) return most;
  made.insert(made.end(), most.begin(), most.end());
  std::sort(made.begin(), made.end());
  made.erase(std::unique(made.begin(), made.end()), made.end());
  return made;
}

void Aliases::find_writers() {
  writers_of_.resize(locations_.size());
  for (ir::Node* writer : writers_)
    for (std::size_t operand : written_operands(*writer)) {
      const ir::Value* value = writer->input(operand);
      for (LocationId id : writes_items(*writer, operand) ? reach(value) : Set(set_of(value))) writers_of_[id].push_back(writer);
    }
}

std::span<ir::Node* const> Aliases::writers_of(LocationId id) const { return writers_of_[id]; }

bool Aliases::written(const ir::Value* value) const {
  const auto own = locations(value);
  return std::any_of(own.begin(), own.end(), [&](LocationId id) { return !writers_of_[id].empty(); });
}

bool Aliases::reach_written(const ir::Value* value) const {
  return value->id() < reach_written_.size() && reach_written_[value->id()];
}

void Aliases::add(ir::Value* value, const ir::Value* like) {
  const Set set = set_of(like);
  set_of(value) = set;
  for (LocationId id : reach(value)) observers_[id].push_back(value);
  if (reach_written_.size() < sets_.size()) reach_written_.resize(sets_.size());
  reach_written_[value->id()] = reach_written(like);
}

}  // namespace compatcheck::passes

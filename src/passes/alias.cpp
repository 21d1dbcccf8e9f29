#include "passes/alias.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "passes/effects.h"
#include "schema/schema.h"

namespace compatcheck::passes {
namespace {

// Operators that may return their argument, or a view of it, though their schemas don't say so: found by running every
// operator of torch 2.13's own tests and looking for shared storage.
constexpr auto undeclared_views = std::to_array<std::string_view>({
    "aten::_cast_Byte", "aten::_cast_Char", "aten::_cast_Double", "aten::_cast_Float", "aten::_cast_Half",
    "aten::_cast_Int", "aten::_cast_Long", "aten::_cast_Short", "aten::_reshape_from_tensor", "aten::_unsafe_view",
    "aten::align_tensors", "aten::alpha_dropout", "aten::atleast_1d", "aten::atleast_2d", "aten::atleast_3d",
    "aten::broadcast_tensors", "aten::cartesian_prod", "aten::conj_physical", "aten::data", "aten::dequantize",
    "aten::dropout", "aten::einsum", "aten::feature_alpha_dropout", "aten::feature_dropout",
    "aten::flatten_dense_tensors", "aten::meshgrid", "aten::pad", "aten::sum_to_size", "aten::to_dense",
    "aten::type_as"});

bool is_container(const ir::TypeRef& type) {
  using enum ir::TypeKind;
  if (!type) return true;
  switch (type->kind) {
    case tensor: case generator: case storage: case stream: return false;
    case optional: return type->elements.empty() || is_container(type->elements[0]);
    default: return true;
  }
}

bool insert(std::vector<LocationId>& set, LocationId id) {
  const auto at = std::lower_bound(set.begin(), set.end(), id);
  if (at != set.end() && *at == id) return false;
  set.insert(at, id);
  return true;
}

// A list of tensors is written as a list (append), or tensor by tensor (_foreach_add_).
bool writes_items(const ir::Node& node, std::size_t operand) {
  constexpr auto list_operators = std::to_array<std::string_view>(
      {"aten::Delete", "aten::_set_item", "aten::append", "aten::clear", "aten::extend", "aten::insert", "aten::pop",
       "aten::remove", "aten::reverse", "aten::sort"});
  return ir::is_tensor_list(node.input(operand)->type()) && node.schema() &&
         !std::binary_search(list_operators.begin(), list_operators.end(), node.op());
}

}  // namespace

Aliases::Aliases(const ir::Graph& graph, const ir::Program* program) : program_(program) {
  collect(*graph.top());
  if (any_writes()) solve(graph);
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
    if (is_container(input->type())) insert(locations_[id].contents, add_location(locations_[id]));
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
  find_writers();
}

// ---- What each node lets flow where

void Aliases::flow(const ir::Block& block) {
  for (const ir::Node* node : block) flow(*node);
}

void Aliases::flow(const ir::Node& node) {
  if (node.is("prim::If")) return flow_branch(node);
  if (node.is("prim::Loop")) return flow_loop(node);
  for (const ir::Block* block : node.blocks()) flow(*block);
  if (node.is("prim::GetAttr") || node.is("prim::SetAttr")) return flow_attribute(node);
  if (node.schema()) return flow_schema(node);
  flow_prim(node);
}

void Aliases::flow_branch(const ir::Node& node) {
  for (const ir::Block* block : node.blocks()) {
    flow(*block);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) assign(node.output(i), block->outputs()[i]);
  }
}

void Aliases::flow_loop(const ir::Node& node) {
  const ir::Block& body = *node.blocks()[0];
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    assign(body.inputs()[i + 1], node.input(i + 2));
    assign(body.inputs()[i + 1], body.outputs()[i + 1]);
  }
  flow(body);
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    assign(body.inputs()[i + 1], body.outputs()[i + 1]);
    assign(node.output(i), body.inputs()[i + 1]);
  }
}

void Aliases::flow_attribute(const ir::Node& node) {
  const ir::Constant* attribute = node.attribute("name");
  const std::string name = attribute && attribute->get<std::string>() ? *attribute->get<std::string>() : "";
  const Set objects = set_of(node.input(0));
  const bool reads = node.is("prim::GetAttr");
  for (LocationId id : objects) {
    const auto known = object_of_.find(id);
    Set& memory = known != object_of_.end() ? cell(known->second, name) : locations_[id].contents;
    if (reads) {
      if (holds_memory(node.output()->type())) merge(set_of(node.output()), memory);
    } else if (holds_memory(node.input(1)->type())) {
      merge(memory, set_of(node.input(1)));
    }
  }
}

void Aliases::flow_prim(const ir::Node& node) {
  if (node.outputs().empty()) return;
  const ir::Value* first = node.output();
  if (node.is("prim::Constant")) {
    if (holds_memory(first->type())) constant(first, *ir::constant_of(first));
  } else if (node.is("prim::ListConstruct") || node.is("prim::TupleConstruct") || node.is("prim::DictConstruct")) {
    if (!holds_memory(first->type())) return;
    fresh(first);
    for (const ir::Value* input : node.inputs()) put(first, input);
  } else if (node.is("prim::TupleSlice")) {
    fresh(first);
    for (LocationId id : Set(set_of(node.input(0)))) merge(locations_[made_.at(first)].contents, locations_[id].contents);
  } else if (node.is("prim::TupleUnpack") || node.is("prim::ListUnpack") || node.is("prim::TupleIndex") ||
             node.is("prim::DictIndex") || node.is("prim::ModuleContainerIndex")) {
    if (node.is("prim::ListUnpack") && get_parts(node)) return;
    for (const ir::Value* output : node.outputs()) get(output, node.input(0));
  } else if (node.is("prim::CreateObject") || node.is("prim::NumToTensor") || node.is("prim::Uninitialized") ||
             node.is("prim::tolist")) {
    if (holds_memory(first->type())) fresh(first);
  } else {  // unknown: may hand on whatever it was given
    for (const ir::Value* output : node.outputs()) assign_all_inputs(node, output);
  }
}

void Aliases::flow_schema(const ir::Node& node) {
  const schema::Schema& schema = *node.schema();
  const bool undeclared = std::binary_search(undeclared_views.begin(), undeclared_views.end(), node.op());
  const std::size_t arguments = std::min(schema.arguments.size(), node.inputs().size());
  for (std::size_t o = 0; o < node.outputs().size(); ++o) {
    const ir::Value* output = node.output(o);
    if (!holds_memory(output->type())) continue;
    const std::string declared = o < schema.returns.size() ? schema.returns[o].alias_set : "*";
    bool same = false;
    if (!declared.empty() && declared != "*")
      for (std::size_t i = 0; i < arguments; ++i)
        if (schema.arguments[i].alias_set.starts_with(declared) &&
            is_container(node.input(i)->type()) == is_container(output->type())) {
          assign(output, node.input(i));
          same = true;
        }
    if (same) continue;
    // Parts of what was given, or whole new memory; a new container may hold anything that was given.
    if (!declared.empty() || undeclared) {
      for (std::size_t i = 0; i < node.inputs().size(); ++i) {
        const bool container = is_container(node.input(i)->type());
        if (container == is_container(output->type())) assign(output, node.input(i));
        if (container) get(output, node.input(i));
      }
    }
    if (declared.empty() || is_container(output->type())) fresh(output);
    if (is_container(output->type()))
      for (const ir::Value* input : node.inputs()) {
        put(output, input);
        if (is_container(input->type()))
          for (LocationId id : Set(set_of(input))) merge(locations_[made_.at(output)].contents, locations_[id].contents);
      }
  }
  for (std::size_t i = 0; i < arguments; ++i) {  // a written list keeps what is put into it
    if (!schema.arguments[i].written || !is_container(node.input(i)->type())) continue;
    for (std::size_t j = 0; j < node.inputs().size(); ++j) {
      if (j == i) continue;
      put(node.input(i), node.input(j));
      if (is_container(node.input(j)->type()))
        for (LocationId to : Set(set_of(node.input(i))))
          for (LocationId from : Set(set_of(node.input(j)))) merge(locations_[to].contents, locations_[from].contents);
    }
  }
}

// ---- Sets

Aliases::Set& Aliases::set_of(const ir::Value* value) {
  if (value->id() >= sets_.size()) sets_.resize(value->id() + 1);
  return sets_[value->id()];
}

void Aliases::merge(Set& to, const Set& from) {
  if (&to == &from || std::includes(to.begin(), to.end(), from.begin(), from.end())) return;
  Set both;
  both.reserve(to.size() + from.size());
  std::set_union(to.begin(), to.end(), from.begin(), from.end(), std::back_inserter(both));
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

// What chunk, split and unbind give doesn't overlap, if the tensor that was split is whole memory of its own: x.chunk(2)
// of a linear's result, not of an expanded view. Each part is a location beside the whole's. Parts of two splits do
// overlap: the second one's are views of the whole.
bool Aliases::get_parts(const ir::Node& unpack) {
  constexpr auto splits = std::to_array<std::string_view>(
      {"aten::chunk", "aten::split", "aten::split_with_sizes", "aten::tensor_split", "aten::unbind",
       "aten::unsafe_chunk", "aten::unsafe_split", "aten::unsafe_split_with_sizes"});
  const ir::Node* split = unpack.input(0)->producer();
  if (!split || !std::binary_search(splits.begin(), splits.end(), split->op())) return false;
  const Set& whole = set_of(split->input(0));
  if (whole.size() != 1 || locations_[whole[0]].maker != split->input(0)->producer() || !locations_[whole[0]].maker) return false;
  const LocationId base = whole[0];
  if (locations_[base].split && locations_[base].split != &unpack) return false;
  locations_[base].split = &unpack;
  for (const ir::Value* output : unpack.outputs()) {
    auto [at, added] = made_.try_emplace(output, 0);
    if (added) {
      at->second = add_location({MemoryLocation::Kind::fresh, locations_[base].maker, output->name(), {}, {}, nullptr});
      locations_[base].parts.push_back(at->second);
    }
    insert(set_of(output), at->second);
  }
  return true;
}

void Aliases::add_parts(Set& set) const {
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
  const void* key = tensor && tensor->storage ? static_cast<const void*>(tensor->storage.get()) : identity;
  if (auto at = constants_.find(key); at != constants_.end()) return at->second;
  const LocationId id = add_location({MemoryLocation::Kind::constant, nullptr, {}, {}, {}, nullptr});
  constants_[key] = id;
  auto hold = [&](const ir::Constant& item) {
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

void Aliases::add_reach(LocationId id, Set& found) const {
  if (!insert(found, id)) return;
  for (LocationId held : locations_[id].contents) add_reach(held, found);
}

std::vector<LocationId> Aliases::reach(const ir::Value* value) const {
  Set found;
  for (LocationId id : locations(value)) add_reach(id, found);
  return found;
}

void Aliases::find_writers() {
  writers_of_.resize(locations_.size());
  for (ir::Node* writer : writers_)
    for (std::size_t operand : written_operands(*writer)) {
      const ir::Value* value = writer->input(operand);
      for (LocationId id : writes_items(*writer, operand) ? reach(value) : Set(set_of(value)))
        writers_of_[id].push_back(writer);
    }
}

std::span<ir::Node* const> Aliases::writers_of(LocationId id) const { return writers_of_[id]; }

bool Aliases::written(const ir::Value* value) const {
  const auto own = locations(value);
  return std::any_of(own.begin(), own.end(), [&](LocationId id) { return !writers_of_[id].empty(); });
}

bool Aliases::reach_written(const ir::Value* value) const {
  if (!any_writes()) return false;
  const auto all = reach(value);
  return std::any_of(all.begin(), all.end(), [&](LocationId id) { return !writers_of_[id].empty(); });
}

std::span<ir::Value* const> Aliases::observers(LocationId id) {
  if (observers_.empty()) {
    observers_.resize(locations_.size());
    for (ir::Value* value : values_)
      for (LocationId reached : reach(value)) observers_[reached].push_back(value);
  }
  return observers_[id];
}

void Aliases::add(ir::Value* value, const ir::Value* like) {
  const Set set = set_of(like);
  set_of(value) = set;
  observers(0);
  for (LocationId id : reach(value)) observers_[id].push_back(value);
}

}  // namespace compatcheck::passes

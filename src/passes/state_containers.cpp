#include "passes/state_containers.h"

#include <algorithm>
#include <optional>
#include <set>

#include "passes/attributes.h"
#include "passes/effects.h"
#include "passes/rewrite.h"
#include "process/spell_count.h"

namespace compatcheck::passes {
namespace {

using ir::TypeKind;

constexpr std::size_t most_leaves = 1000;  // most tensors and numbers in one attribute: each becomes an input and an output

constexpr std::string_view not_followed =
    "what calls do to it can't be followed, or one list or dictionary may stand in two places of it after a call";
const std::string prefix_of_input = "state of ";

bool is_container(const ir::Constant& value) {
  return value.get<ir::ListConstant>() || value.get<ir::DictConstant>() || value.get<ir::TupleConstant>();
}

struct Member {
  std::string name;
  const ir::Constant* stored;
  ir::TypeRef type;
};

// Returns the members of a list, dictionary or tuple of this type.
std::vector<Member> stored_members(const ir::Constant& stored, const ir::TypeRef& type) {
  std::vector<Member> members;
  const auto element = [&](std::size_t i) { return i < type->elements.size() ? type->elements[i] : nullptr; };
  if (const auto* list = stored.get<ir::ListConstant>()) {
    for (const ir::Constant& item : list->items) members.push_back({std::to_string(members.size()), &item, element(0)});
  } else if (const auto* dict = stored.get<ir::DictConstant>()) {
    for (const auto& [key, item] : dict->items) members.push_back({text_of_key(key), &item, element(1)});
  } else if (const auto* tuple = stored.get<ir::TupleConstant>()) {
    for (std::size_t i = 0; i < tuple->items.size(); ++i) members.push_back({std::to_string(i), &tuple->items[i], element(i)});
  }
  return members;
}

bool fits(const ir::Constant& stored, const ir::TypeRef& type) {
  switch (type->kind) {
    case TypeKind::tensor: return stored.get<ir::TensorView>();
    case TypeKind::integer: return stored.get<std::int64_t>();
    case TypeKind::floating: return stored.get<double>();
    case TypeKind::boolean: return stored.get<bool>();
    case TypeKind::list: return stored.get<ir::ListConstant>();
    case TypeKind::dict: return stored.get<ir::DictConstant>();
    case TypeKind::tuple: return stored.get<ir::TupleConstant>();
    default: return false;
  }
}

// Texts, devices, objects and None stay as they are: they have no value in ONNX.
bool stays(const ir::Constant& stored) {
  return stored.is_none() || stored.get<std::string>() || stored.get<ir::ObjectConstant>() || stored.get<ir::EnumConstant>() ||
         stored.get<ir::DeviceConstant>();
}

bool is_leaf(const ir::TypeRef& type) { return ir::is(type, TypeKind::tensor) || is_number(type); }

// Why its members can't be named one by one, each an attribute of its own; empty if they can.
std::string obstacle_of_structure(const ir::Constant& stored, const ir::TypeRef& declared, const std::string& path,
                                  std::set<std::string>& names) {
  const ir::TypeRef& type = ir::without_optional(declared);
  if (stays(stored)) return {};
  if (!type || !fits(stored, type))
    return "it holds a value of type " + ir::to_string(*ir::type_of(stored)) +
           ", and only tensors, numbers, and lists, tuples and dictionaries of them become inputs and outputs";
  if (is_leaf(type)) {
    if (!names.insert(path).second) return "two of its members have the name " + path;
    return names.size() > most_leaves ? "it has more than " + std::to_string(most_leaves) + " members" : std::string();
  }
  for (const Member& member : stored_members(stored, type)) {
    if (member.name.empty()) return "only texts and ints as keys of a dictionary can name inputs and outputs";
    if (std::string why = obstacle_of_structure(*member.stored, member.type, path + "." + member.name, names); !why.empty())
      return why;
  }
  return {};
}

bool can_be_one_list(const ir::Constant& stored, const ir::TypeRef& declared) {
  const ir::TypeRef& type = ir::without_optional(declared);
  return stored.get<ir::ListConstant>() && ir::is(type, TypeKind::list) && is_leaf(type->elements[0]);
}

bool holds_no_tensor(const ir::Constant& stored, const ir::TypeRef& declared) {
  return stored.get<ir::ListConstant>()->items.empty() && ir::is(ir::without_optional(declared)->elements[0], TypeKind::tensor);
}

bool changes_container(const ir::Node* write) {
  return std::ranges::any_of(written_operands(*write), [&](std::size_t i) { return !is_tensor(write->input(i)); });
}

bool may_change_length(const ir::Node* write) {
  return changes_container(write) && !(write->is("aten::_set_item") && ir::is(write->input(0)->type(), TypeKind::list));
}

ir::Node* first_place(const ir::Graph& graph) { return graph.top()->first() ? graph.top()->first() : graph.top()->return_node(); }

// The parts of a list, dictionary or tuple, where the graph makes it at once.
std::optional<std::vector<ir::Value*>> parts_of(ir::Value* value, ir::Node* place) {
  const ir::Node* maker = value->producer();
  std::vector<ir::Value*> parts;
  if (const ir::Constant* constant = ir::constant_of(value)) {
    for (const Member& member : stored_members(*constant, ir::without_optional(value->type())))
      parts.push_back(constant_before(place, *member.stored));
    return parts;
  }
  if (ir::is(value->type(), TypeKind::tuple) && !(maker && maker->is("prim::TupleConstruct"))) {
    const auto unpacked = node_before(place, "prim::TupleUnpack", {&value, 1}, value->type()->elements)->outputs();
    return std::vector<ir::Value*>(unpacked.begin(), unpacked.end());
  }
  if (!maker || !(maker->is("prim::ListConstruct") || maker->is("prim::DictConstruct") || maker->is("prim::TupleConstruct")))
    return std::nullopt;
  const bool dict = maker->is("prim::DictConstruct");
  for (std::size_t i = dict ? 1 : 0; i < maker->inputs().size(); i += dict ? 2 : 1) parts.push_back(maker->input(i));
  return parts;
}

std::vector<ir::Constant> keys_after(const ir::Value* value) {
  std::vector<ir::Constant> keys;
  if (const auto* dict = known<ir::DictConstant>(value)) {
    for (const auto& [key, item] : dict->items) keys.push_back(key);
  } else {
    for (std::size_t i = 0; i < value->producer()->inputs().size(); i += 2)
      if (const ir::Constant* key = ir::constant_of(value->producer()->input(i))) keys.push_back(*key);
  }
  return keys;
}

}  // namespace

std::string ContainerState::obstacle_of(const StateAccesses& accesses, const AttributeKey& key, const Accessed& cell) const {
  if (accesses.may_be_of_unknown_object(key)) return "an object that is known only when the model runs may hold it, too";
  for (const ir::Node* set : cell.sets)
    if (std::string place = obstacle_of_place(*set); !place.empty()) return place;
  std::set<std::string> names;
  std::string structure =
      decided_.lists.contains(key) ? std::string() : obstacle_of_structure(*cell.stored, cell.type, cell.path, names);
  if (!structure.empty()) return structure;
  if (std::string why = accesses.sharing(key, cell); !why.empty()) return why;
  return obstacle_in_file(cell);
}

// Returns the reason if two members share memory.
std::string ContainerState::obstacle_in_file(const Accessed& cell) {
  const auto writes_tensor = [](const ir::Node* write) {
    return std::ranges::any_of(written_operands(*write), [&](std::size_t i) { return is_tensor(write->input(i)); });
  };
  std::set<const ir::Storage*> storages;
  bool shares = false;
  for_each_member(*cell.stored, {}, [&](const ir::Constant& value, const std::string&) {
    const auto* view = value.get<ir::TensorView>();
    shares = shares || (view && view->storage && !storages.insert(view->storage.get()).second);
  });
  if (shares && std::ranges::any_of(cell.writes, writes_tensor)) return "two of its members share memory";
  std::set<ir::ContainerIdentity> own;
  shares = false;
  for_each_member(*cell.stored, {}, [&](const ir::Constant& value, const std::string&) {
    const ir::ContainerIdentity identity = ir::identity_of(value);
    shares = shares || (identity && !own.insert(identity).second);
  });
  return shares && !cell.writes.empty() ? "two of its members are one list or dictionary" : std::string();
}

bool ContainerState::open(ir::Graph& graph) {
  const StateAccesses accesses(graph, whole_, watch_);
  for (const AttributeKey& key : accesses.written()) {
    const Accessed& cell = accesses.cells().at(key);
    if (!is_container(*cell.stored) || decided_.refused.contains(key)) continue;
    const auto* list = cell.stored->get<ir::ListConstant>();
    if (list && list->items.size() > most_leaves && can_be_one_list(*cell.stored, cell.type)) decided_.lists.insert(key);
    if (std::string why = obstacle_of(accesses, key, cell); !why.empty()) {
      decided_.refused.emplace(key, std::move(why));
      continue;
    }
    Opened opened{.key = key,
                  .path = cell.path,
                  .stored = cell.stored,
                  .type = cell.type,
                  .whole = decided_.lists.contains(key),
                  .in_place = std::ranges::any_of(cell.writes, changes_container),
                  .sets_items = cell.sets.empty() && std::ranges::none_of(cell.writes, may_change_length)};
    ir::Node* place = first_place(graph);
    begin(graph, place, opened);
    for (const auto* nodes : {&cell.reads, &cell.sets})
      for (ir::Node* access : *nodes) access->replace_input(0, opened.object->output());
    opened_.push_back(std::move(opened));
  }
  for (const Opened& opened : opened_) {
    ir::Value* object = opened.object->output();
    ir::Node* read = node_before(graph.top()->return_node(), "prim::GetAttr", {&object, 1}, {&opened.type, 1});
    read->set_attribute("name", {opened.key.second});
    graph.top()->add_output(read->output());
  }
  return !opened_.empty();
}

void ContainerState::begin(ir::Graph& graph, ir::Node* place, Opened& opened) {
  const ir::TypeRef holder = ir::named_type(opened.in_place ? std::string(holder_of_distinct_lists) : "compatcheck.state");
  opened.object = node_before(place, "prim::CreateObject", {}, {&holder, 1});
  ir::Value* first;
  if (opened.whole) {
    opened.leaves.push_back({.name = {}, .stored = opened.stored, .type = ir::without_optional(opened.type)});
    first = opened.leaves[0].input = graph.top()->add_input(opened.leaves[0].type, prefix_of_input + opened.path);
  } else {
    first = build(graph, place, opened, *opened.stored, opened.type, {});
  }
  ir::Node* set = node_before(place, "prim::SetAttr", std::vector<ir::Value*>{opened.object->output(), first}, {});
  set->set_attribute("name", {opened.key.second});
}

ir::Value* ContainerState::build(ir::Graph& graph, ir::Node* place, Opened& opened, const ir::Constant& stored,
                                 const ir::TypeRef& declared, const std::string& name) {
  watch_.step();
  const ir::TypeRef& type = ir::without_optional(declared);
  if (stays(stored)) {
    if (stored.get<ir::ObjectConstant>()) opened.objects.push_back({name, &stored});
    return constant_before(place, stored);
  }
  if (is_leaf(type)) {
    const ir::TypeRef plain = is_number(type) ? type : ir::tensor_type();
    ir::Value* input = graph.top()->add_input(plain, prefix_of_input + opened.path + "." + name);
    opened.leaves.push_back({.name = name, .stored = &stored, .type = plain, .input = input});
    return input;
  }
  std::vector<ir::Value*> parts;
  const auto* dict = stored.get<ir::DictConstant>();
  const std::vector<Member> members = stored_members(stored, type);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (dict) parts.push_back(constant_before(place, dict->items[i].first));
    parts.push_back(build(graph, place, opened, *members[i].stored, members[i].type,
                          name.empty() ? members[i].name : name + "." + members[i].name));
  }
  const char* op = dict ? "prim::DictConstruct" : stored.get<ir::ListConstant>() ? "prim::ListConstruct" : "prim::TupleConstruct";
  return node_before(place, op, parts, {&type, 1})->output();
}

// Why what a call leaves hasn't the structure that the file holds; empty if it has.
std::string ContainerState::match(const Aliases& aliases, ir::Node* place, Opened& opened, std::size_t& leaf,
                                  const ir::Constant& stored, ir::Value* after) const {
  watch_.step();
  if (stays(stored)) {
    const ir::Constant* constant = ir::constant_of(after);
    return constant && ir::equal(*constant, stored) ? std::string()
                                                    : "a member that is neither a tensor nor a number changes from call to call";
  }
  const std::string kept = "; its structure must stay the same from call to call";
  if (ir::is(after->type(), TypeKind::optional) || ir::is(after->type(), TypeKind::none))
    return "it may hold None after a call" + kept;
  if (!is_container(stored)) {
    Leaf& own = opened.leaves.at(leaf++);
    own.after = after;
    return after->type() && after->type()->kind == own.type->kind
               ? std::string()
               : "its member " + own.name + " may become a value of type " + ir::to_string(*after->type());
  }
  if (aliases.written(after)) return std::string(not_followed);
  const auto parts = parts_of(after, place);
  if (!parts && opened.sets_items && ir::is(after->type(), TypeKind::list))
    return "only the running model knows at which place a call sets an item of a list in it; such a list must be an attribute of "
           "its own";
  if (!parts) return "the number of its members after a call is known only when the model runs" + kept;
  const auto members = stored_members(stored, ir::without_optional(after->type()));
  if (parts->size() != members.size())
    return "it has " + spell_count(members.size(), "member") + " before a call and " + std::to_string(parts->size()) +
           " after it" + kept;
  if (const auto* dict = stored.get<ir::DictConstant>()) {
    const std::vector<ir::Constant> keys = keys_after(after);
    const auto same = [](const ir::Constant& key, const auto& item) { return ir::equal(key, item.first); };
    if (!std::ranges::equal(keys, dict->items, same)) return "its keys or their order change in a call" + kept;
  }
  for (std::size_t i = 0; i < members.size(); ++i)
    if (std::string why = match(aliases, place, opened, leaf, *members[i].stored, (*parts)[i]); !why.empty()) return why;
  return {};
}

bool ContainerState::close(ir::Graph& graph) {
  ir::Block& top = *graph.top();
  const Aliases aliases(graph, &whole_, watch_);
  bool good = true;
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    Opened& opened = opened_[i];
    ir::Value* after = graph.outputs()[graph.outputs().size() - opened_.size() + i];
    std::string why;
    std::size_t leaf = 0;
    if (std::ranges::any_of(opened.object->output()->uses(), [](const ir::Use& use) { return is_attribute_access(*use.user); }))
      why = not_followed;
    else if (opened.whole)
      opened.leaves[0].after = after;
    else
      why = match(aliases, top.return_node(), opened, leaf, *opened.stored, after);
    if (why.empty()) continue;
    good = false;
    const bool list = !opened.whole && can_be_one_list(*opened.stored, opened.type);
    if (list && holds_no_tensor(*opened.stored, opened.type))
      decided_.refused.emplace(opened.key,
                               "it is a list that is empty at first, and ONNX Runtime accepts no empty sequence of tensors as an "
                               "input (a tensor to which calls add by torch.cat may begin with a size of 0)");
    else if (list)
      decided_.lists.insert(opened.key);
    else
      decided_.refused.emplace(opened.key, std::move(why));
  }
  if (!good) return false;
  for (std::size_t i = opened_.size(); i-- > 0;) top.erase_output(graph.outputs().size() - 1);
  apart_.classes = whole_.classes;
  apart_.objects = whole_.objects;
  apart_.root = whole_.root;
  for (Opened& opened : opened_) store(graph, opened);
  std::size_t leaves = 0;
  for (Opened& opened : opened_)
    for (const Leaf& leaf : opened.leaves) {
      leaf.input->replace_all_uses_with(leaf.read->output());
      ++leaves;
    }
  for (; leaves > 0; --leaves) top.erase_input(graph.inputs().size() - 1);
  return true;
}

// The attribute holds an object now, of which each leaf is an attribute.
void ContainerState::describe(Opened& opened) {
  opened.held_by = static_cast<std::uint32_t>(apart_.objects.size());
  ir::Class type;
  type.name = "compatcheck.state." + std::to_string(apart_.objects.size());
  ir::Object object{type.name, {}};
  for (const Leaf& leaf : opened.leaves) {
    type.attributes.push_back({.name = leaf.name, .type = leaf.type});
    object.attributes.push_back(*leaf.stored);
  }
  for (const auto& [name, held] : opened.objects) {
    type.attributes.push_back({.name = name, .type = ir::type_of(*held)});
    object.attributes.push_back(*held);
  }
  ir::Object& holder = apart_.objects[opened.key.first];
  const auto& attributes = apart_.classes.at(holder.class_name).attributes;
  const auto at = std::ranges::find(attributes, opened.key.second, &ir::ClassAttribute::name);
  holder.attributes[static_cast<std::size_t>(at - attributes.begin())] = {ir::ObjectConstant{opened.held_by}};
  apart_.classes.emplace(type.name, std::move(type));
  apart_.objects.push_back(std::move(object));
}

// Reads stand at the beginning, writes at the end.
void ContainerState::store(ir::Graph& graph, Opened& opened) {
  if (!opened.whole) describe(opened);
  ir::Node* place = first_place(graph);
  ir::Value* object = constant_before(place, {ir::ObjectConstant{opened.whole ? opened.key.first : opened.held_by}});
  const std::size_t dot = opened.path.rfind('.');
  const std::string holder = !opened.whole ? opened.path : dot == std::string::npos ? std::string() : opened.path.substr(0, dot);
  if (!holder.empty()) object->producer()->set_attribute("path", {holder});
  for (Leaf& leaf : opened.leaves) {
    const std::string& name = opened.whole ? opened.key.second : leaf.name;
    leaf.read = node_before(place, "prim::GetAttr", {&object, 1}, {&leaf.type, 1});
    leaf.read->set_attribute("name", {name});
    if (leaf.after == leaf.input) continue;
    ir::Node* set = node_before(graph.top()->return_node(), "prim::SetAttr", std::vector<ir::Value*>{object, leaf.after}, {});
    set->set_attribute("name", {name});
  }
}

bool ContainerState::settle(ir::Graph& graph, const MadeState& made) {
  bool good = true;
  for (const Opened& opened : opened_)
    for (const Leaf& leaf : opened.leaves) {
      const AttributeKey key = opened.whole ? opened.key : AttributeKey{opened.held_by, leaf.name};
      const auto refused = made.refused.find(key);
      if (refused == made.refused.end()) continue;
      const std::string member = opened.whole ? std::string() : "its member " + leaf.name + " can't: ";
      good = !decided_.refused.emplace(opened.key, member + refused->second).second && good;
    }
  if (!good) return false;
  for (ir::Node* node : all_nodes(graph, watch_)) {  // members that no call changes become constants
    const auto* object = node->is("prim::GetAttr") ? known<ir::ObjectConstant>(node->input(0)) : nullptr;
    if (!object || object->object < whole_.objects.size()) continue;
    const ir::Constant* stored = stored_attribute(apart_, object->object, attribute_name(*node));
    ir::Value* constant = constant_before(node, *stored);
    if (!stored->get<ir::TensorView>()) constant->set_type(node->output()->type());
    if (holds_memory(constant->type())) constant->producer()->set_attribute("path", {parameter_name(*node)});
    replace(node->output(), constant);
    node->erase();
  }
  return true;
}

bool ContainerState::is_input(const std::string& name) const {
  return std::ranges::any_of(opened_, [&](const Opened& opened) {
    return name == prefix_of_input + opened.path || name.starts_with(prefix_of_input + opened.path + ".");
  });
}

}  // namespace compatcheck::passes

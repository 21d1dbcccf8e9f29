// Attributes of the program's objects. Objects are known by their index: prim::Constant of an ObjectConstant.
#include "passes/attributes.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "passes/alias.h"
#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {
namespace {

const ir::ObjectConstant* object_of(const ir::Value* value) { return known<ir::ObjectConstant>(value); }

const ir::Class* class_of(const ir::Program& program, std::uint32_t object) {
  if (object >= program.objects.size()) return nullptr;
  const auto at = program.classes.find(program.objects[object].class_name);
  return at == program.classes.end() ? nullptr : &at->second;
}

struct AttributeWrites {
  std::set<ObjectAttribute> cells;
  std::set<std::string_view> of_unknown_objects;

  explicit AttributeWrites(const ir::Graph& graph) {
    ir::for_each_node(*graph.top(), [&](const ir::Node* node) {
      if (!node->is("prim::SetAttr")) return;
      if (const auto* object = object_of(node->input(0)))
        cells.insert({object->object, attribute_name(*node)});
      else if (!node->input(0)->producer() || !node->input(0)->producer()->is("prim::CreateObject"))
        of_unknown_objects.insert(attribute_name(*node));
    });
  }

  bool contains(const ObjectAttribute& cell) const { return cells.contains(cell) || of_unknown_objects.contains(cell.second); }
};

bool is_placeless(const ir::Constant& constant) {  // a value without memory, or an object
  return !constant.get<ir::TensorView>() && !constant.get<ir::ListConstant>() && !constant.get<ir::DictConstant>() &&
         !constant.get<ir::TupleConstant>() && !constant.get<ir::OpaqueConstant>();
}

// Returns the class of an object that isn't a module, packed parameters for example: operators distinguish such classes.
ir::TypeRef class_of(const ir::ObjectConstant& object, const ir::Program& program) {
  if (object.object >= program.objects.size()) return nullptr;
  const std::string& name = program.objects[object.object].class_name;
  const auto found = program.classes.find(name);
  return found == program.classes.end() || found->second.is_module ? nullptr : ir::named_type(name);
}

// Puts the constant where every later read of the attribute can use it too, so that a long list isn't copied for each.
ir::Value* constant_for(ir::Node* read, const ir::Constant& value, const ir::Program& program) {
  ir::Node* constant = read->graph()->create_constant(value);
  constant->copy_origin(*read);
  constant->insert_before(node_in(read->graph()->top(), read));
  if (holds_memory(constant->output()->type())) constant->set_attribute("path", {parameter_name(*read)});
  // The class's declaration may say more than the value: the element type of an empty list.
  if (!value.is_none() && !value.get<ir::TensorView>() && !value.get<ir::ObjectConstant>())
    constant->output()->set_type(read->output()->type());
  if (const auto* object = value.get<ir::ObjectConstant>())
    if (const auto type = class_of(*object, program)) constant->output()->set_type(type);
  return constant->output();
}

}  // namespace

const ir::Constant* stored_attribute(const ir::Program& program, std::uint32_t object, std::string_view name) {
  const ir::Class* type = class_of(program, object);
  if (!type) return nullptr;
  const auto& values = program.objects[object].attributes;
  for (std::size_t i = 0; i < type->attributes.size() && i < values.size(); ++i)
    if (type->attributes[i].name == name) return &values[i];
  const auto constant = type->constants.find(std::string(name));
  return constant == type->constants.end() ? nullptr : &constant->second;
}

const ir::TypeRef* attribute_type(const ir::Program& program, std::uint32_t object, std::string_view name) {
  const ir::Class* type = class_of(program, object);
  if (!type) return nullptr;
  for (const ir::ClassAttribute& attribute : type->attributes)
    if (attribute.name == name) return &attribute.type;
  return nullptr;
}

std::string parameter_name(const ir::Node& read) {
  const std::string_view name = attribute_name(read);
  std::string path;
  // The reads above this one may be constants already; then its module path says where it stands.
  const ir::Node* holder = read.input(0)->producer();
  if (holder && holder->is("prim::GetAttr"))
    path = parameter_name(*holder);
  else if (holder && holder->attribute("path"))
    path = *holder->attribute("path")->get<std::string>();
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

std::size_t read_training_as_false(ir::Graph& graph, const ir::Program* program, const ir::Watch& watch) {
  std::size_t changed = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!node->is("prim::GetAttr") || attribute_name(*node) != "training") continue;
    if (!ir::is(node->output()->type(), ir::TypeKind::boolean)) continue;
    const auto* object = program ? object_of(node->input(0)) : nullptr;
    const ir::Class* type = object ? class_of(*program, object->object) : nullptr;
    if (type && !type->is_module) continue;
    const ir::Constant* value = object ? stored_attribute(*program, object->object, "training") : nullptr;
    if (value && value->get<bool>() && *value->get<bool>()) ++changed;
    replace(node->output(), constant_before(node, {false}));
    node->erase();
  }
  return changed;
}

namespace {

// Without aliases only values that hold no memory become constants.
std::size_t make_constants(ir::Graph& graph, const ir::Program& program, const Aliases* aliases, const ir::Watch& watch) {
  const AttributeWrites writes(graph);
  std::map<ObjectAttribute, std::pair<ir::Value*, ir::TypeRef>> made;  // and the type it was read with
  std::size_t changed = 0;
  for (ir::Node* node : all_nodes(graph, watch)) {
    if (!node->is("prim::GetAttr")) continue;
    const auto* object = object_of(node->input(0));
    if (!object) continue;
    const ObjectAttribute cell{object->object, attribute_name(*node)};
    if (writes.contains(cell)) continue;
    const ir::Constant* value = stored_attribute(program, object->object, attribute_name(*node));
    if (!value || value->get<ir::OpaqueConstant>()) continue;
    if (!is_placeless(*value) && (!aliases || aliases->reach_written(node->output()))) continue;
    auto& [constant, type] = made[cell];
    if (!constant || !ir::equal(*type, *node->output()->type())) {
      type = node->output()->type();
      constant = constant_for(node, *value, program);
    }
    replace(node->output(), constant);
    node->erase();
    ++changed;
  }
  return changed;
}

}  // namespace

std::size_t plain_attributes_to_constants(ir::Graph& graph, const ir::Program& program, const ir::Watch& watch) {
  return make_constants(graph, program, nullptr, watch);
}

std::size_t attributes_to_constants(ir::Graph& graph, const ir::Program& program, const ir::Watch& watch) {
  bool any = false;
  for (const ir::Node* node : all_nodes(graph, watch)) any |= node->is("prim::GetAttr");
  if (!any) return 0;
  return make_constants(graph, program, Aliases::of(graph, &program, watch).get(), watch);
}

}  // namespace compatcheck::passes

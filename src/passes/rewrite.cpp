#include "passes/rewrite.h"

#include <algorithm>

#include "schema/schema.h"

namespace compatcheck::passes {

namespace {

std::vector<ir::Node*> in_order(const ir::Graph& graph) {
  std::vector<ir::Node*> nodes;
  ir::for_each_node(*graph.top(), [&](ir::Node* node) { nodes.push_back(node); });
  return nodes;
}

}  // namespace

Nodes all_nodes(const ir::Graph& graph, const ir::Watch& watch) { return {in_order(graph), watch}; }

Nodes all_nodes_backwards(const ir::Graph& graph, const ir::Watch& watch) {
  std::vector<ir::Node*> nodes = in_order(graph);
  std::reverse(nodes.begin(), nodes.end());
  return {std::move(nodes), watch};
}

ir::Value* constant_before(ir::Node* place, ir::Constant value) {
  ir::Node* constant = place->graph()->create_constant(std::move(value));
  constant->copy_origin(*place);
  constant->insert_before(place);
  return constant->output();
}

ir::Value* constant_before(ir::Node* place, ir::Constant value, const ir::TypeRef& type) {
  ir::Value* output = constant_before(place, std::move(value));
  output->set_type(type);
  return output;
}

ir::Node* node_before(ir::Node* place, std::string op, std::span<ir::Value* const> inputs, std::span<const ir::TypeRef> types) {
  ir::Node* node = place->graph()->create(std::move(op), inputs);
  for (const ir::TypeRef& type : types) node->add_output(type);
  node->copy_origin(*place);
  node->insert_before(place);
  return node;
}

void add_defaults(ir::Node* node) {
  const auto& arguments = node->schema()->arguments;
  for (std::size_t i = node->inputs().size(); i < arguments.size() && arguments[i].default_value; ++i)
    node->add_input(constant_before(node, *arguments[i].default_value, arguments[i].type));
}

bool complete_call(ir::Node* node, const schema::Registry& registry) {
  const schema::Schema* schema = schema::match(*node, registry);
  if (!schema) return false;
  node->set_schema(schema);
  node->set_overload(schema->overload);
  add_defaults(node);
  return true;
}

void replace(ir::Value* from, ir::Value* to) {
  if (to->name().empty()) to->set_name(from->name());
  from->replace_all_uses_with(to);
}

std::string_view attribute_name(const ir::Node& node) {
  const ir::Constant* name = node.attribute("name");
  const auto* text = name ? name->get<std::string>() : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

bool is_undefined(const ir::Value* value) { return value->producer() && value->producer()->is("prim::Uninitialized"); }

bool is_empty_list(const ir::Value* value) {
  if (const ir::Constant* constant = ir::constant_of(value)) {
    const auto* list = constant->get<ir::ListConstant>();
    return list && list->items.empty();
  }
  return value->producer() && value->producer()->is("prim::ListConstruct") && value->producer()->inputs().empty();
}

std::vector<ir::TypeRef> output_types(const ir::Node& node) {
  std::vector<ir::TypeRef> types;
  for (const ir::Value* output : node.outputs()) types.push_back(output->type());
  return types;
}

void raise_before(ir::Node* place, std::string exception, std::string text, ir::Constant type, const ir::Node& origin) {
  ir::Value* inputs[] = {constant_before(place, {std::move(text)}), constant_before(place, std::move(type))};
  node_before(place, std::move(exception), inputs, {})->copy_origin(origin);
}

bool erase_if_unused(ir::Node* node) {
  const auto outputs = node->outputs();
  if (!std::all_of(outputs.begin(), outputs.end(), [](const ir::Value* output) { return output->unused(); })) return false;
  node->erase();
  return true;
}

void take_block(ir::Node* branch, ir::Block& block) {
  for (std::size_t i = 0; i < branch->outputs().size(); ++i) replace(branch->output(i), block.outputs()[i]);
  for (ir::Node* node : block) node->move_before(branch);
  branch->erase();
}

ir::Node* node_in(const ir::Block* block, ir::Node* node) {
  while (node->owner() != block) node = node->owner()->owner();
  return node;
}

bool available_in(const ir::Value* value, const ir::Block* block) {
  for (; block; block = block->parent())
    if (value->block() == block) return true;
  return false;
}

}  // namespace compatcheck::passes

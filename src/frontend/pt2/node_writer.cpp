#include "frontend/pt2/node_writer.h"

#include <array>

namespace compatcheck::frontend::pt2 {
namespace {

// Two constants of one type and value have one key. Empty: the constant isn't shared.
std::string key_of(const ir::Constant& value, const ir::TypeRef& held) {
  std::string key = held ? ir::to_string(*held) + " " : std::string();
  if (value.is_none()) return key + "None";
  if (const auto* whole = value.get<std::int64_t>()) return key + std::to_string(*whole);
  if (const auto* flag = value.get<bool>()) return key + (*flag ? "True" : "False");
  if (const auto* list = value.get<ir::ListConstant>(); list && list->items.size() <= 8) {
    for (const ir::Constant& item : list->items) {
      if (!item.get<std::int64_t>()) return {};
      key += std::to_string(*item.get<std::int64_t>()) + ",";
    }
    return key;
  }
  return {};
}

bool is_list(const ir::TypeRef& type) { return type && ir::is(ir::without_optional(type), ir::TypeKind::list); }

}  // namespace

NodeWriter NodeWriter::in(ir::Block& block) const {
  NodeWriter inner(reading_, block);
  inner.origin_ = origin_;
  return inner;
}

void NodeWriter::begin(const Json& node) { origin_ = reading_.origins.of(node); }

ir::Node* NodeWriter::add_node(const std::string& op, std::span<ir::Value* const> inputs, std::span<const ir::TypeRef> outputs) {
  ir::Node* node = reading_.graph.create(op, inputs);
  for (const ir::TypeRef& output : outputs) node->add_output(output);
  node->set_location(origin_.location);
  node->set_module(std::string(origin_.module));
  block_->append(node);
  return node;
}

ir::Value* NodeWriter::add(const std::string& op, const Values& inputs, const ir::TypeRef& type) {
  return add_node(op, inputs, std::array{type})->output();
}

ir::Value* NodeWriter::list(const Values& items, const ir::TypeRef& element) {
  return add("prim::ListConstruct", items, ir::list_of(element));
}

ir::Value* NodeWriter::cast(ir::Value* tensor, ir::Value* dtype, const ir::TensorType& type) {
  ir::Value* const no = constant({false});
  ir::Value* result = add("aten::to", {tensor, dtype, no, no, constant({})}, ir::tensor_type(type));
  result->producer()->set_overload("dtype");
  return result;
}

ir::Value* NodeWriter::constant(ir::Constant value, const ir::TypeRef& type) {
  const ir::TypeRef held = is_list(type) && !value.is_none() ? ir::without_optional(type) : nullptr;
  const std::string key = key_of(value, held);
  ir::Value* unshared = nullptr;
  ir::Value*& place = key.empty() ? unshared : reading_.constants[key];
  if (place) return place;
  ir::Node* node = reading_.graph.create_constant(std::move(value));
  if (held && ir::constant_of(node->output())->get<ir::ListConstant>()) node->output()->set_type(held);
  reading_.graph.top()->prepend(node);
  return place = node->output();
}

}  // namespace compatcheck::frontend::pt2

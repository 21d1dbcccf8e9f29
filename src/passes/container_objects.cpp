// Optionals, refinements of types, and objects that are followed.
#include <string_view>
#include <utility>

#include "passes/container_walk.h"
#include "passes/evaluate.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

void ContainerWalk::identity(ir::Node* node) {
  for (std::size_t one = 0; one < 2 && node->inputs().size() == 2; ++one) {
    if (!look(node->input(1 - one)).is_none()) continue;
    const Abstract other = look(node->input(one));
    const bool is_not_none = node->is("aten::__isnot__");
    if (other.present) return give(node, Abstract::of(is_not_none ? other.present : negated(other.present, node)));
    if (other.followed()) return give(node, Abstract::of(constant_before(node, {is_not_none})));
  }
  visit_other(node);
}

ir::Value* ContainerWalk::negated(ir::Value* truth, ir::Node* place) {
  return computed(place, "aten::__not__", {&truth, 1}, truth->type());
}

ir::Value* ContainerWalk::computed(ir::Node* place, const char* op, std::span<ir::Value* const> inputs, const ir::TypeRef& type) {
  return resolved_node(place, op, inputs, {&type, 1})->output();
}

ir::Node* ContainerWalk::resolved_node(ir::Node* place, const char* op, std::span<ir::Value* const> inputs,
                                       std::span<const ir::TypeRef> types) {
  ir::Node* node = node_before(place, op, inputs, types);
  if (const schema::Schema* schema = schema::match(*node, options_.registry)) {
    node->set_schema(schema);
    node->set_overload(schema->overload);
  }
  reads_contents_.insert(node);
  return node;
}

// If None and a value give different answers for an Optional, its bool is the answer.
void ContainerWalk::is_instance(ir::Node* node) {
  const Abstract from = look(node->input(0));
  if (!from.present) return visit_other(node);
  const Abstract& inner = from.parts->front();
  const ir::TypeRef type = inner.cell ? heap_.origin(*inner.cell).type : inner.parts ? inner.type : inner.value->type();
  ir::Node* typed = node_before(node, "prim::Uninitialized", {}, {&type, 1});
  node->replace_input(0, typed->output());
  drop(typed);
  const ir::Constant none, something{true};
  const ir::Constant *of_none = &none, *of_value = &something;
  const auto is_none = evaluate(*node, {&of_none, 1}), is_value = evaluate(*node, {&of_value, 1});
  if (!is_none || !is_value) leave(from);
  const bool if_none = *is_none->get<bool>(), if_value = *is_value->get<bool>();
  if (if_none == if_value) return give(node, Abstract::of(constant_before(node, {if_none})));
  give(node, Abstract::of(if_value ? from.present : negated(from.present, node)));
}

// Refines a type that TorchScript has checked. `_unwrap_optional` raises if the value is None.
void ContainerWalk::refine(ir::Node* node) {
  const Abstract from = look(node->input(0));
  if (!from.followed()) return visit_other(node);
  if (from.present && !node->is("prim::unchecked_cast")) leave(from);
  give(node, from.present ? from.parts->front() : from);
}

// x.to(dtype) of a constant that has it already is x itself: an attribute that is only moved doesn't change.
void ContainerWalk::to(ir::Node* node) {
  const auto* tensor = known<ir::TensorView>(node->input(0));
  if (!tensor || !node->schema()) return visit_other(node);
  const auto argument = [&](std::string_view name) -> const ir::Constant* {
    const auto i = node->schema()->argument_index(name);
    return i && *i < node->inputs().size() ? ir::constant_of(node->input(*i)) : nullptr;
  };
  const ir::Constant *dtype = argument("dtype"), *copy = argument("copy"), *format = argument("memory_format");
  const auto* number = dtype ? dtype->get<std::int64_t>() : nullptr;
  const bool keeps_dtype = dtype && (dtype->is_none() || (number && *number == static_cast<std::int64_t>(tensor->dtype)));
  const bool* copies = copy ? copy->get<bool>() : nullptr;
  if (!keeps_dtype || !copies || *copies || (format && !format->is_none())) return visit_other(node);
  give(node, Abstract::of(node->input(0)));
}

void ContainerWalk::create_object(ir::Node* node) {
  if (is_left_out(node->output())) {
    known_[node->output()] = Abstract::of(node->output());
    return;
  }
  know(node->output(), new_container(node, {.kind = Cell::Kind::object}));
}

void ContainerWalk::get_attribute(ir::Node* node) {
  if (const auto key = attribute_key(node)) {
    const Cell& holder = heap_.at(holders_.at(*key));
    if (holder.untouched) read_before_write_.insert(*key);
    return give(node, Abstract(holder.items[0]));
  }
  const Abstract object = look(node->input(0));
  if (!object.cell || heap_.at(*object.cell).kind != Cell::Kind::object) return visit_other(node);
  const Abstract* value = heap_.at(*object.cell).find({std::string(attribute_name(*node))});
  if (!value) leave(object);
  give(node, Abstract(*value));
}

void ContainerWalk::set_attribute(ir::Node* node) {
  Abstract value = look(node->input(1));
  if (const auto key = attribute_key(node)) {
    Cell& holder = heap_.change(holders_.at(*key));
    holder.items[0] = std::move(value);
    holder.untouched = false;
    ++changes_;
    return drop(node);
  }
  const Abstract object = look(node->input(0));
  if (!object.cell || heap_.at(*object.cell).kind != Cell::Kind::object) return visit_other(node);
  change(*object.cell, node).set({std::string(attribute_name(*node))}, std::move(value));
  ++changes_;
  drop(node);
  spread(node_behind(node), site_of(node));
}

}  // namespace compatcheck::passes

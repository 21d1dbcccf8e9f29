#include <algorithm>

#include "frontend/native/function_emitter.h"

namespace compatcheck::frontend::native {

using ir::TypeKind;
using ir::TypeRef;

namespace {

constexpr std::size_t long_constant = 4096, most_constant_bytes = 1 << 30;

}  // namespace

Typed FunctionEmitter::tuple(const Results& parts, const TypeRef& type) {
  std::vector<TypeRef> types;
  for (const Typed& part : parts) types.push_back(part.type);
  return builder_.add("prim::TupleConstruct", parts, type ? type : ir::tuple_of(std::move(types)));
}

Typed FunctionEmitter::expression(const Expression& each, const TypeRef& hint) {
  code_.watch.step();
  switch (each.kind) {
    case Form::name:
      if (const Typed* known = find(each.text)) return *known;
      return literal(each, hint);
    case Form::list: return list(each, hint);
    case Form::tuple: {
      Results parts;
      for (std::size_t i = 0; i < each.parts.size(); ++i) parts.push_back(expression(each.parts[i], hint_of(hint, i)));
      at(each);
      return tuple(parts);
    }
    case Form::dict: return dict(each, hint);
    case Form::attribute: return attribute(each);
    case Form::call: return single(call(each));
    case Form::subscript: {
      const Typed container = expression(each.parts[0]);
      return subscript(each, container);
    }
    default: return literal(each, hint);
  }
}

TypeRef FunctionEmitter::hint_of(const TypeRef& hint, std::size_t place) const {
  return element_of(hint ? ir::without_optional(hint) : nullptr, place);
}

Typed FunctionEmitter::literal(const Expression& each, const TypeRef& hint) {
  const std::string name = each.is(Form::attribute) ? dotted(each) : std::string();
  if (const auto known = constants_.find(name); known != constants_.end()) return known->second;
  at(each);
  ir::Constant value = constant_value(code_, each, hint);
  const TypeRef type = value.get<ir::TensorView>() ? ir::tensor_type() : constant_type(value);
  const std::size_t bytes = ir::footprint(value);
  if ((code_.constant_bytes += bytes) > most_constant_bytes)
    throw ModelError("its code holds constants of more than 1 GB beside its tensors");
  const Typed made = builder_.constant(std::move(value), type);
  if (bytes < long_constant || name.empty()) return made;
  made.value->producer()->move_before(top()->first());  // every block can read it there
  return constants_[name] = made;
}

TypeRef FunctionEmitter::constant_type(const ir::Constant& value) const {
  const auto* object = value.get<ir::ObjectConstant>();
  if (!object) return ir::type_of(value);
  for (const auto& [constant, type] : code_.constants)
    if (const auto* same = constant.get<ir::ObjectConstant>(); same && same->object == object->object) return type;
  return ir::simple_type(TypeKind::any);
}

TypeRef FunctionEmitter::common(const Results& values, std::size_t first, std::size_t step, TypeRef type) {
  const bool stated = type != nullptr;
  for (std::size_t i = first; i < values.size(); i += step) {
    if (!type)
      type = values[i].type;
    else if (const TypeRef both = unified(type, values[i].type, code_.definitions); !stated)
      type = both ? both : unified_or_union(type, values[i].type, code_.definitions);
  }
  return type;
}

Typed FunctionEmitter::list(const Expression& each, const TypeRef& hint) {
  const TypeRef stated = hint && ir::without_optional(hint)->kind == TypeKind::list ? hint_of(hint, 0) : nullptr;
  Results items;
  for (const Expression& part : each.parts) items.push_back(expression(part, stated));
  if (stated)
    for (Typed& item : items) item = as_type(item, stated);
  at(each);
  const TypeRef element = common(items, 0, 1, stated);
  return builder_.add("prim::ListConstruct", items, ir::list_of(element ? element : ir::tensor_type()));
}

Typed FunctionEmitter::dict(const Expression& each, const TypeRef& hint) {
  const bool stated = hint && ir::without_optional(hint)->kind == TypeKind::dict;
  Results items;
  for (std::size_t i = 0; i < each.parts.size(); ++i)
    items.push_back(expression(each.parts[i], stated ? hint_of(hint, i % 2) : nullptr));
  at(each);
  const TypeRef key = common(items, 0, 2, stated ? hint_of(hint, 0) : nullptr);
  const TypeRef value = common(items, 1, 2, stated ? hint_of(hint, 1) : nullptr);
  return builder_.add("prim::DictConstruct", items,
                      ir::dict_of(key ? key : ir::simple_type(TypeKind::string), value ? value : ir::tensor_type()));
}

bool FunctionEmitter::is_global(const Expression& chain) {
  const Expression* root = &chain;
  while (root->is(Form::attribute)) root = &root->parts[0];
  static constexpr std::string_view words[] = {"torch", "ops", "__torch__", "CONSTANTS"};
  return root->is(Form::name) && std::ranges::find(words, root->text) != std::end(words) && !find(root->text);
}

Typed FunctionEmitter::attribute(const Expression& each) {
  if (is_global(each)) return literal(each, nullptr);
  const Typed object = expression(each.parts[0]);
  at(each);
  return attribute(object, each.text);
}

Typed FunctionEmitter::attribute(const Typed& object, std::string_view name) {
  if (object.type->kind == TypeKind::tuple) {
    const auto field = std::ranges::find(object.type->field_names, name);
    if (field == object.type->field_names.end()) fail("reads the field " + std::string(name) + " of a tuple");
    return item(object, field - object.type->field_names.begin());
  }
  const ClassDefinition* cls = class_of(object.type);
  if (!cls) fail("reads the attribute " + std::string(name) + " of a " + annotation(*object.type));
  if (cls->kind == ClassDefinition::Kind::enumeration) {
    if (name == "name") return builder_.add("prim::EnumName", {object}, ir::simple_type(TypeKind::string));
    if (name == "value" && !cls->finals.empty())
      return builder_.add("prim::EnumValue", {object}, ir::type_of(constant_value(code_, *cls->finals[0].second)));
  }
  if (const Attribute* found = cls->attribute(name)) {
    ir::Node* node = builder_.add("prim::GetAttr", {object});
    node->set_attribute("name", {std::string(name)});
    node->add_output(found->type)->set_name(std::string(name));
    return {node->output(), found->type};
  }
  for (const auto& [constant, value] : cls->finals)
    if (constant == name) return literal(*value, cls->final_type(name));
  fail("reads the attribute " + std::string(name) + ", which the class " + cls->name + " lacks");
}

Typed FunctionEmitter::item(const Typed& tuple, std::ptrdiff_t place) {
  const auto size = static_cast<std::ptrdiff_t>(tuple.type->elements.size());
  if (place < -size || place >= size) fail("reads beyond the end of a tuple");
  const TypeRef& type = tuple.type->elements[static_cast<std::size_t>(place < 0 ? place + size : place)];
  const Typed index = builder_.constant({static_cast<std::int64_t>(place)});
  return builder_.add("prim::TupleIndex", {tuple, index}, type);
}

Typed FunctionEmitter::subscript(const Expression& each, const Typed& container) {
  if (each.parts.size() != 2) fail("has a subscript of several indices");
  const Expression& index = each.parts[1];
  const bool is_tuple = container.type->kind == TypeKind::tuple;
  if (index.is(Form::slice)) {
    if (!is_tuple) fail("slices a " + annotation(*container.type));
    return part_of_tuple(each, container);
  }
  const Typed key = expression(index);
  at(each);
  if (container.type->kind == TypeKind::tensor) {
    const Typed first = builder_.constant({std::int64_t{0}});
    return single(apply("aten::select", {{container, first, key}, {}}));
  }
  if (!is_tuple) return single(apply("aten::__getitem__", {{container, key}, {}}));
  const ir::Constant* known = ir::constant_of(key.value);
  if (known && known->get<std::int64_t>()) return item(container, *known->get<std::int64_t>());
  const TypeRef type = common(members(container), 0, 1, nullptr);
  return builder_.add("prim::TupleIndex", {container, key}, type);
}

FunctionEmitter::Results FunctionEmitter::members(const Typed& tuple) {
  Results made;
  for (const TypeRef& element : tuple.type->elements) made.push_back({nullptr, element});
  return made;
}

Typed FunctionEmitter::part_of_tuple(const Expression& each, const Typed& container) {
  const auto size = static_cast<std::int64_t>(container.type->elements.size());
  const auto bound = [&](const Expression& part, std::int64_t otherwise) {
    if (part.is(Form::absent)) return otherwise;
    const ir::Constant value = constant_value(code_, part);
    const auto* number = value.get<std::int64_t>();
    if (!number) fail("slices a tuple at a place that isn't known");
    return std::clamp<std::int64_t>(*number < 0 ? *number + size : *number, 0, size);
  };
  const std::int64_t begin = bound(each.parts[1].parts[0], 0), end = bound(each.parts[1].parts[1], size);
  at(each);
  Results parts;
  for (std::int64_t i = begin; i < end; ++i) parts.push_back(item(container, i));
  return tuple(parts);
}

Typed FunctionEmitter::single(const Results& results) {
  if (results.size() == 1) return results[0];
  return results.empty() ? builder_.constant({}) : tuple(results);
}

}  // namespace compatcheck::frontend::native

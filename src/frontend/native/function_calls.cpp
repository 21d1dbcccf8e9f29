// Calls of operators, functions and methods, and the words of the format that are called as functions.
#include <algorithm>

#include "frontend/native/function_emitter.h"
#include "frontend/native/packed_parameters.h"
#include "frontend/native/upgraded.h"

namespace compatcheck::frontend::native {

using ir::TypeKind;
using ir::TypeRef;

namespace {

// Operators without schemas or with others than their calls.
bool is_of_optimizer(std::string_view op) {
  return op.starts_with("prim::") && (op.find("MKLDNN") != op.npos || op.find("mkldnn") != op.npos);
}

}  // namespace

Arguments FunctionEmitter::arguments(const Expression& each, std::size_t first) {
  Arguments given;
  const std::size_t positional = each.parts.size() - each.keywords.size();
  for (std::size_t i = first; i < each.parts.size(); ++i) {
    const Typed value = expression(each.parts[i]);
    if (i < positional)
      given.positional.push_back(value);
    else
      given.keywords.emplace_back(each.keywords[i - positional], value);
  }
  return given;
}

FunctionEmitter::Results FunctionEmitter::call(const Expression& each) {
  const Expression& callee = each.parts[0];
  if (callee.is(Form::name)) return special(each, callee.text);
  if (!callee.is(Form::attribute)) fail("calls what is no function");
  if (is_global(callee)) return global(each, dotted(callee));
  if (callee.text == "tolist") fail("has a tolist() without its type");
  const Typed object = expression(callee.parts[0]);
  return method(each, object, std::string(callee.text));
}

FunctionEmitter::Results FunctionEmitter::global(const Expression& each, const std::string& chain) {
  if (chain.starts_with("torch.")) {
    std::string name = chain.substr(6);
    if (name.starts_with("autograd.")) name = name.substr(9);
    if (name == "device" && each.parts.size() == 2 && each.parts[1].is(Form::text)) return {literal(each, nullptr)};
    return operation(each, "aten::" + name);
  }
  if (chain.starts_with("ops.")) {
    const auto dot = chain.find('.', 4);
    if (dot == chain.npos) fail("calls " + chain);
    return operation(each, chain.substr(4, dot - 4) + "::" + chain.substr(dot + 1));
  }
  if (chain.ends_with(".__new__")) return {created(each, chain.substr(0, chain.size() - 8))};
  if (const ClassDefinition* cls = code_.definitions.find_class(chain)) {
    if (cls->kind != ClassDefinition::Kind::named_tuple) fail("calls the class " + chain);
    Results parts = arguments(each).positional;
    if (parts.size() != cls->attributes.size()) fail("makes a " + chain + " of other fields than it has");
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = as_type(parts[i], cls->attributes[i].type);
    at(each);
    return {tuple(parts, cls->type)};
  }
  const FunctionDefinition* function = code_.definitions.find_function(chain);
  if (!function) fail<ModelError>("calls " + chain + ", which its code lacks");
  at(each.parts[0]);
  return called(each, *function, literal(each.parts[0], nullptr));
}

FunctionEmitter::Results FunctionEmitter::called(const Expression& each, const FunctionDefinition& function,
                                                 const Typed& callable) {
  Results inputs = signature(*function.syntax, {}, arguments(each));
  inputs.insert(inputs.begin(), callable);
  at(each);
  return {builder_.add("prim::CallFunction", inputs, code_.definitions.type(function.syntax->result))};
}

Typed FunctionEmitter::created(const Expression& each, const std::string& name) {
  const ClassDefinition* cls = code_.definitions.find_class(name);
  if (!cls || !cls->type) fail<ModelError>("makes an object of " + name + ", which its code lacks");
  at(each);
  return builder_.add("prim::CreateObject", {}, cls->type);
}

FunctionEmitter::Results FunctionEmitter::signature(const FunctionSyntax& function, Results given, const Arguments& more) {
  given.insert(given.end(), more.positional.begin(), more.positional.end());
  if (given.size() > function.parameters.size()) fail("calls " + std::string(function.name) + " with too many arguments");
  Results inputs;
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const ParameterSyntax& parameter = function.parameters[i];
    const bool self = i == 0 && parameter.type.is(Form::absent);  // a method's first parameter
    const TypeRef type = self ? nullptr : code_.definitions.type(parameter.type);
    const auto named = std::ranges::find(more.keywords, parameter.name, &std::pair<std::string_view, Typed>::first);
    if (i < given.size())
      inputs.push_back(self ? given[i] : as_argument(given[i], type));
    else if (named != more.keywords.end())
      inputs.push_back(as_argument(named->second, type));
    else if (!parameter.default_value.is(Form::absent))
      inputs.push_back(builder_.constant(constant_value(code_, parameter.default_value, type), type));
    else
      fail("calls " + std::string(function.name) + " without its argument " + std::string(parameter.name));
  }
  return inputs;
}

Typed FunctionEmitter::as_argument(const Typed& value, const TypeRef& type) {
  const auto made = converted(value, type, true, &builder_, code_.definitions);
  if (!made) fail("passes a " + annotation(*value.type) + " in place of a " + annotation(*type));
  return *made;
}

FunctionEmitter::Results FunctionEmitter::method(const Expression& each, const Typed& object, const std::string& name) {
  const ClassDefinition* cls = class_of(object.type);
  if (!cls) {
    Arguments given = arguments(each);
    given.positional.insert(given.positional.begin(), object);
    at(each);
    return apply("aten::" + name, given);
  }
  if (cls->kind == ClassDefinition::Kind::custom) return custom_method(each, object, *cls, name);
  const FunctionSyntax* found = cls->method(name);
  if (!found) fail("calls the method " + name + ", which the class " + cls->name + " lacks");
  const Results inputs = signature(*found, {object}, arguments(each));
  at(each);
  ir::Node* node = builder_.add("prim::CallMethod", inputs);
  node->set_attribute("name", {name});
  const TypeRef type = code_.definitions.type(found->result);
  return {{node->add_output(type), type}};
}

FunctionEmitter::Results FunctionEmitter::custom_method(const Expression& each, const Typed& object, const ClassDefinition& cls,
                                                        const std::string& name) {
  const Arguments given = arguments(each);
  Results inputs{object};
  TypeRef type = method_of_packed(cls.name, name);
  if (type) {
    inputs.insert(inputs.end(), given.positional.begin(), given.positional.end());
  } else {
    const Stubs::Stub& stub = code_.stubs.find(cls.name + "." + name, code_.definitions);
    for (const Typed& input : stub.inputs(given, builder_)) inputs.push_back(input);
    const std::vector<TypeRef> types = stub.results();
    type = types.size() == 1 ? types[0] : types.empty() ? ir::simple_type(TypeKind::none) : ir::tuple_of(types);
  }
  at(each);
  ir::Node* node = builder_.add("prim::CallMethod", inputs);
  node->set_attribute("name", {name});
  return outputs(node, {type});
}

const ClassDefinition* FunctionEmitter::class_of(const TypeRef& type) {
  if (type->kind != TypeKind::named && type->kind != TypeKind::module) return nullptr;
  return code_.definitions.find_class(type->name);
}

FunctionEmitter::Results FunctionEmitter::operation(const Expression& each, const std::string& op) {
  const Arguments given = arguments(each);
  at(each);
  return apply(op, given);
}

FunctionEmitter::Results FunctionEmitter::apply(const std::string& op, Arguments given) {
  if (is_of_optimizer(op))
    fail("calls " + op +
         ", which torch.jit.optimize_for_inference made for the CPU of one machine, and whose weights aren't in the file: save "
         "the "
         "model before torch.jit.optimize_for_inference");
  complete(op, code_.version, given, builder_);
  code_.operators.insert(op);
  const auto overloads = code_.schemas.overloads(op);
  if (overloads.empty()) return apply_stub(op, code_.stubs.find(op, code_.definitions), given);
  const auto matched = match(overloads, given, builder_, code_.definitions);
  if (!matched) {
    std::string stated;
    if (!op.starts_with("aten::") && !op.starts_with("prim::"))
      for (const schema::Schema* schema : overloads) stated += (stated.empty() ? ": " : "; ") + schema::to_string(*schema);
    fail("calls " + op + " with arguments that fit none of its overloads" + stated);
  }
  if (const auto upgraded = upgrade(*matched, code_.version, builder_)) return {*upgraded};
  ir::Node* node = builder_.add(op, matched->inputs);
  node->set_overload(matched->schema->overload);
  return outputs(node, matched->results);
}

FunctionEmitter::Results FunctionEmitter::apply_stub(const std::string& op, const Stubs::Stub& stub, const Arguments& given) {
  const Results inputs = stub.inputs(given, builder_);
  return outputs(builder_.add(op, inputs), stub.results());
}

FunctionEmitter::Results FunctionEmitter::outputs(ir::Node* node, const std::vector<TypeRef>& types) {
  Results results;
  for (const TypeRef& type : types) results.push_back({node->add_output(type), type});
  return results;
}

FunctionEmitter::Results FunctionEmitter::special(const Expression& each, std::string_view name) {
  const auto expect = [&](std::size_t count) {
    if (each.parts.size() != count + 1) fail("calls " + std::string(name) + " with another number of arguments");
  };
  if (const Typed* variable = find(name)) {
    const ir::Constant* value = ir::constant_of(variable->value);
    const auto* function = value ? value->get<ir::FunctionConstant>() : nullptr;
    if (!function) fail("calls the variable " + std::string(name));
    return called(each, *code_.definitions.find_function(function->name), *variable);
  }
  if (name == "annotate") return expect(2), Results{annotated(each)};
  if (name == "unchecked_cast") {
    expect(2);
    const TypeRef type = code_.definitions.type(each.parts[1]);
    const Typed value = expression(each.parts[2]);
    at(each);
    return {builder_.add("prim::unchecked_cast", {value}, type)};
  }
  if (name == "uninitialized") {
    expect(1);
    at(each);
    return {builder_.add("prim::Uninitialized", {}, code_.definitions.type(each.parts[1]))};
  }
  if (name == "isinstance") return expect(2), Results{is_instance(each)};
  if (name == "getattr") {
    expect(2);
    const Typed object = expression(each.parts[1]);
    at(each);
    if (!each.parts[2].is(Form::text)) fail("reads an attribute whose name isn't plain");
    return {attribute(object, each.parts[2].text)};
  }
  if (name == "fork") return expect(1), Results{forked(each)};
  if (name == "print") {
    const Arguments given = arguments(each);
    at(each);
    builder_.add("prim::Print", given.positional);
    return {};
  }
  if (name == "sorted") return operation(each, "aten::sorted");
  return cast(each, name);
}

FunctionEmitter::Results FunctionEmitter::cast(const Expression& each, std::string_view name) {
  struct Cast {
    std::string_view word;
    TypeKind kind;
    const char* op;
  };
  static constexpr Cast casts[] = {{"int", TypeKind::integer, "aten::Int"},
                                   {"float", TypeKind::floating, "aten::Float"},
                                   {"bool", TypeKind::boolean, "aten::Bool"},
                                   {"complex", TypeKind::complex, "aten::Complex"},
                                   {"str", TypeKind::string, "aten::str"}};
  const auto* found = std::ranges::find(casts, name, &Cast::word);
  if (found == std::end(casts)) fail("calls " + std::string(name));
  const Arguments given = arguments(each);
  if (given.positional.size() == 1 && given.positional[0].type->kind == found->kind) return {given.positional[0]};
  at(each);
  return apply(found->op, given);
}

Typed FunctionEmitter::annotated(const Expression& each) {
  const TypeRef type = code_.definitions.type(each.parts[1]);
  const Expression& value = each.parts[2];
  const bool is_call = value.is(Form::call) && value.parts[0].is(Form::attribute);
  if (is_call && value.parts[0].text == "tolist") return listed(each, expression(value.parts[0].parts[0]), type);
  if (value.is(Form::none)) {
    at(each);
    return builder_.constant({}, type);
  }
  const Typed made = expression(value, type);
  at(each);
  const auto same = converted(made, type, true, &builder_, code_.definitions);
  if (!same) fail("annotates a " + annotation(*made.type) + " as " + annotation(*type));
  // A value that may be None stays one.
  return type->kind == TypeKind::optional ? Typed{same->value, type} : *same;
}

Typed FunctionEmitter::listed(const Expression& each, const Typed& tensor, const TypeRef& type) {
  std::int64_t depth = 0;
  TypeRef element = type;
  for (; element->kind == TypeKind::list; element = element->elements[0]) ++depth;
  static constexpr std::pair<TypeKind, std::int64_t> numbers[] = {
      {TypeKind::integer, 0}, {TypeKind::floating, 1}, {TypeKind::boolean, 2}, {TypeKind::complex, 3}};
  const auto* number = std::ranges::find(numbers, element->kind, &std::pair<TypeKind, std::int64_t>::first);
  if (number == std::end(numbers)) fail("has a tolist() of " + annotation(*type));
  at(each);
  const Typed dimensions = builder_.constant({depth}), kind = builder_.constant({number->second});
  return builder_.add("prim::tolist", {tensor, dimensions, kind}, type);
}

Typed FunctionEmitter::is_instance(const Expression& each) {
  const Typed value = expression(each.parts[1]);
  ir::ListConstant types{ir::simple_type(TypeKind::string), {}};
  const Expression& stated = each.parts[2];
  if (stated.is(Form::tuple))
    for (const Expression& type : stated.parts) types.items.push_back({annotation(*code_.definitions.type(type))});
  else
    types.items.push_back({annotation(*code_.definitions.type(stated))});
  at(each);
  ir::Node* node = builder_.add("prim::isinstance", {value});
  node->set_attribute("types", {std::move(types)});
  return {node->add_output(ir::simple_type(TypeKind::boolean)), ir::simple_type(TypeKind::boolean)};
}

Typed FunctionEmitter::forked(const Expression& each) {
  const auto found = functions_.find(each.parts[1].text);
  if (found == functions_.end()) fail("forks what is no function of its own");
  ir::Function made;
  FunctionEmitter inner(code_, name_, file_, made.graph, this);
  inner.run(*found->second, made, nullptr);
  at(each);
  ir::Node* node = builder_.add("prim::fork", inner.captured_outside());
  node->set_attribute("Subgraph", {ir::FunctionConstant{code_.outlined(name_ + "$fork", std::move(made))}});
  ir::Type type;
  type.kind = TypeKind::future;
  type.elements.push_back(inner.result());
  const auto future = std::make_shared<const ir::Type>(std::move(type));
  return {node->add_output(future), future};
}

}  // namespace compatcheck::frontend::native

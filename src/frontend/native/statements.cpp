// Statements and variables: If and Loop in SSA form.
#include <algorithm>
#include <cctype>
#include <limits>
#include <set>

#include "frontend/native/function_emitter.h"
#include "frontend/native/output_order.h"
#include "ir/control_flow.h"
#include "process/spell_count.h"

namespace compatcheck::frontend::native {

using ir::TypeKind;
using ir::TypeRef;

namespace {

// The names that a block sets, those of blocks in it included.
void assigned_in(const std::vector<Statement>& statements, std::set<std::string_view>& names) {
  for (const Statement& each : statements) {
    for (const Expression& target : each.targets)
      if (target.is(Form::name)) names.insert(target.text);
    assigned_in(each.body, names);
    assigned_in(each.otherwise, names);
  }
}

// "_12" is the printer's own.
bool is_meaningful(std::string_view name) {
  return name[0] != '_' ||
         std::ranges::any_of(name.substr(1), [](char c) { return !std::isdigit(static_cast<unsigned char>(c)); });
}

std::string plain_name(std::string_view name) { return is_meaningful(name) ? std::string(name) : std::string(); }

}  // namespace

void FunctionEmitter::run(const FunctionSyntax& syntax, ir::Function& made, const TypeRef& self) {
  builder_.set_location(file_.locate(syntax.start));
  for (const ParameterSyntax& parameter : syntax.parameters) {
    const TypeRef type = self && made.parameters.empty() ? self : code_.definitions.type(parameter.type);
    made.parameters.push_back({std::string(parameter.name), type, std::nullopt});
    if (!parameter.default_value.is(Form::absent))
      made.parameters.back().default_value = constant_value(code_, parameter.default_value, type);
    frames_[0][parameter.name] = {builder_.block()->add_input(type, std::string(parameter.name)), type};
  }
  if (!syntax.result.is(Form::absent)) result_ = code_.definitions.type(syntax.result);
  block(syntax.body);
  if (!ended_) finish(builder_.constant({}));
  order_outputs(made.graph);
  for (const Typed& capture : captured_here_) made.parameters.push_back({capture.value->name(), capture.type, std::nullopt});
  made.returns.push_back(result_);
}

void FunctionEmitter::at(std::size_t start) {
  builder_.set_location(file_.locate(start));
  if (!code_.traced) code_.traced = file_.traced(start);
}

const Typed* FunctionEmitter::find(std::string_view name) {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame)
    if (const auto found = frame->find(name); found != frame->end()) return &found->second;
  const Typed* outside = outer_ ? outer_->find(name) : nullptr;
  if (!outside) return nullptr;
  captured_outside_.push_back(*outside);
  const Typed inside{top_input(outside->type, name), outside->type};
  captured_here_.push_back(inside);
  return &(frames_[0][name] = inside);
}

ir::Block* FunctionEmitter::top() const {
  ir::Block* block = builder_.block();
  while (block->parent()) block = block->parent();
  return block;
}

ir::Value* FunctionEmitter::top_input(const TypeRef& type, std::string_view name) {
  return top()->add_input(type, std::string(name));
}

void FunctionEmitter::set(std::string_view name, Typed value) {
  code_.types.check(value.type);
  const bool here = frames_.back().contains(name);
  if (const Typed* known = here ? nullptr : find(name)) {
    const auto same = converted(value, known->type, true, &builder_, code_.definitions);
    if (!same) fail("sets " + std::string(name) + " of type " + annotation(*known->type) + " to a " + annotation(*value.type));
    value = {same->value, known->type};
  }
  if (value.value->name().empty() && is_meaningful(name) && value.value->block() == builder_.block())
    value.value->set_name(std::string(name));
  frames_.back()[name] = value;
}

void FunctionEmitter::block(const std::vector<Statement>& statements) {
  for (const Statement& each : statements) statement(each);
}

void FunctionEmitter::statement(const Statement& each) {
  code_.watch.step();
  if (ended_) fail("goes on after its return");
  at(each.start);
  switch (each.kind) {
    case Statement::Kind::assignment: return assign(each);
    case Statement::Kind::expression:
      if (each.values.size() == 1 && each.values[0].is(Form::call))
        call(each.values[0]);
      else
        for (const Expression& value : each.values) expression(value);
      return;
    case Statement::Kind::branch: return branch(each);
    case Statement::Kind::for_range:
    case Statement::Kind::while_loop: return loop(each);
    case Statement::Kind::function: functions_[each.function[0].name] = &each.function[0]; return;
    case Statement::Kind::with: return with(each);
    case Statement::Kind::result: return returns(each);
    case Statement::Kind::pass: return;
  }
}

void FunctionEmitter::returns(const Statement& each) {
  if (builder_.block()->owner()) fail("returns from within a block");
  const Typed value = each.values.empty() ? builder_.constant({}) : values(each.values, each.unpacks, result_);
  finish(value);
}

void FunctionEmitter::finish(const Typed& value) {
  if (!result_) result_ = value.type;
  const auto made = converted(value, result_, true, &builder_, code_.definitions);
  if (!made) fail("returns a " + annotation(*value.type) + " in place of a " + annotation(*result_));
  builder_.block()->add_output(made->value);
  ended_ = true;
}

Typed FunctionEmitter::values(const std::vector<Expression>& each, bool is_tuple, const TypeRef& hint) {
  if (each.size() == 1 && !is_tuple) return expression(each[0], hint);
  Results made;
  for (const Expression& value : each) made.push_back(expression(value));
  return tuple(made);
}

void FunctionEmitter::assign(const Statement& each) {
  if (each.values.empty()) return;  // x : int
  if (each.targets.size() == 1 && !each.unpacks) return target(each.targets[0], assigned(each), each.values[0].start);
  Results made;
  if (each.values.size() > 1)
    for (const Expression& value : each.values) made.push_back(expression(value));
  else
    made = unpacked(each.values[0], each.targets.size());
  if (made.size() != each.targets.size()) fail("unpacks " + spell_count(made.size(), "value"));
  for (std::size_t i = 0; i < made.size(); ++i) target(each.targets[i], made[i], each.values[0].start);
}

Typed FunctionEmitter::assigned(const Statement& each) {
  if (each.annotation.is(Form::absent)) return values(each.values, each.values.size() > 1, nullptr);
  const TypeRef type = code_.definitions.type(each.annotation);
  const Expression& value = each.values[0];
  if (value.is(Form::subscript) && value.parts.size() == 2) {
    const Typed container = expression(value.parts[0]);
    if (container.type->kind == TypeKind::module) {
      const Typed key = expression(value.parts[1]);
      at(value);
      return builder_.add("prim::ModuleContainerIndex", {container, key}, type);
    }
    return as_type(subscript(value, container), type);
  }
  return as_type(expression(value, type), type);
}

Typed FunctionEmitter::as_type(const Typed& value, const TypeRef& type) {
  const auto made = converted(value, type, true, &builder_, code_.definitions);
  if (!made) fail("annotates a " + annotation(*value.type) + " as " + annotation(*type));
  return {made->value, type};
}

void FunctionEmitter::target(const Expression& target, const Typed& value, std::size_t from) {
  if (target.is(Form::name)) return set(target.text, value);
  if (!target.is(Form::attribute)) fail("assigns to what is neither a variable nor an attribute");
  const Typed object = expression(target.parts[0]);
  const ClassDefinition* cls = class_of(object.type);
  const Attribute* attribute = cls ? cls->attribute(target.text) : nullptr;
  if (!attribute) fail("sets an attribute that its class lacks: " + std::string(target.text));
  const Typed stored = as_type(value, attribute->type);
  at(from);
  builder_.add("prim::SetAttr", {object, stored})->set_attribute("name", {std::string(target.text)});
}

FunctionEmitter::Results FunctionEmitter::unpacked(const Expression& value, std::size_t count) {
  Results made = value.is(Form::call) ? call(value) : Results{expression(value)};
  if (made.size() != 1 || made[0].type->kind == TypeKind::tensor) return made;
  const Typed whole = made[0];
  builder_.set_location(nullptr);  // the line says nothing that its value's doesn't
  made.clear();
  if (whole.type->kind == TypeKind::tuple) {
    ir::Node* node = builder_.add("prim::TupleUnpack", {whole});
    for (const TypeRef& element : whole.type->elements) made.push_back({node->add_output(element), element});
  } else if (whole.type->kind == TypeKind::list) {
    ir::Node* node = builder_.add("prim::ListUnpack", {whole});
    const TypeRef& element = whole.type->elements[0];
    for (std::size_t i = 0; i < count; ++i) made.push_back({node->add_output(element), element});
  } else {
    fail("unpacks a " + annotation(*whole.type));
  }
  return made;
}

Typed FunctionEmitter::condition(const Expression& value) {
  const Typed made = expression(value);
  if (made.type->kind == TypeKind::boolean) return made;
  at(value);
  return single(apply("aten::Bool", {{made}, {}}));
}

void FunctionEmitter::branch(const Statement& each) {
  const Typed chosen = condition(each.values[0]);
  at(each.start);
  ir::Node* node = builder_.add("prim::If", {chosen});
  const auto side = [&](const std::vector<Statement>& statements) {
    frames_.emplace_back();
    ir::Block* outside = builder_.enter(node->add_block());
    block(statements);
    builder_.enter(outside);
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    return frame;
  };
  const Frame then = side(each.body), otherwise = side(each.otherwise);
  std::set<std::string_view> names;
  for (const Frame* frame : {&then, &otherwise})
    for (const auto& [name, value] : *frame) names.insert(name);
  for (const std::string_view name : names) merge(node, name, then, otherwise);
}

void FunctionEmitter::merge(ir::Node* node, std::string_view name, const Frame& then, const Frame& otherwise) {
  const Typed* before = find(name);
  const auto in = [&](const Frame& frame) -> const Typed* {
    const auto found = frame.find(name);
    return found == frame.end() ? before : &found->second;
  };
  const Typed *a = in(then), *b = in(otherwise);
  if (!a || !b) return;  // unknown afterwards
  const TypeRef type = before ? before->type : unified_or_union(a->type, b->type, code_.definitions);
  ir::IfView(*node).then_block().add_output(a->value);
  ir::IfView(*node).else_block().add_output(b->value);
  set(name, {node->add_output(type), type});
}

void FunctionEmitter::loop(const Statement& each) {
  const bool counts = each.kind == Statement::Kind::for_range;
  Typed limit, goes_on;
  if (counts)
    limit = as_type(expression(each.values[0]), ir::simple_type(TypeKind::integer));
  else
    goes_on = condition(each.values[0]);
  at(each.start);
  if (counts)
    goes_on = builder_.constant({true});
  else
    limit = builder_.constant({std::numeric_limits<std::int64_t>::max()});
  std::set<std::string_view> names;
  assigned_in(each.body, names);
  std::vector<std::string_view> carried;
  Results inputs{limit, goes_on};
  for (const std::string_view name : names)
    if (const Typed* before = find(name)) {
      carried.push_back(name);
      inputs.push_back(*before);
    }
  ir::Node* node = builder_.add("prim::Loop", inputs);
  ir::Block* body = node->add_block();
  frames_.emplace_back();
  ir::Value* iteration = body->add_input(ir::simple_type(TypeKind::integer));
  for (std::size_t i = 0; i < carried.size(); ++i)
    frames_.back()[carried[i]] = {body->add_input(inputs[i + 2].type, plain_name(carried[i])), inputs[i + 2].type};
  frames_.emplace_back();
  ir::Block* outside = builder_.enter(body);
  if (counts) set(each.targets[0].text, {iteration, ir::simple_type(TypeKind::integer)});
  block(each.body);
  body->add_output(counts ? goes_on.value : condition(each.values[0]).value);
  for (const std::string_view name : carried) body->add_output(find(name)->value);
  builder_.enter(outside);
  frames_.pop_back();
  frames_.pop_back();
  for (std::size_t i = 0; i < carried.size(); ++i) set(carried[i], {node->add_output(inputs[i + 2].type), inputs[i + 2].type});
}

void FunctionEmitter::with(const Statement& each) {
  const Typed object = expression(each.values[0]);
  const ClassDefinition* cls = class_of(object.type);
  const auto result = [&](const char* method) {
    const FunctionSyntax* syntax = cls ? cls->method(method) : nullptr;
    if (!syntax) fail("enters an object without the method " + std::string(method));
    return code_.definitions.type(syntax->result);
  };
  at(each.start);
  const Typed entered = builder_.add("prim::Enter", {object}, result("__enter__"));
  if (!each.targets.empty()) target(each.targets[0], entered, each.start);
  block(each.body);
  at(each.start);
  builder_.add("prim::Exit", {object}, result("__exit__"));
}

ir::Function emit(Code& code, const std::string& name, const FunctionSyntax& syntax, CodeFile& file, const TypeRef& self) {
  ir::Function made;
  made.name = name;
  FunctionEmitter(code, name, file, made.graph, nullptr).run(syntax, made, self);
  return made;
}

}  // namespace compatcheck::frontend::native

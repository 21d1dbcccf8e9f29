#include "frontend/native/emitter.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "frontend/native/calls.h"
#include "frontend/native/packed_parameters.h"
#include "frontend/native/upgraded.h"

namespace compatcheck::frontend::native {
namespace {

using ir::TypeKind;
using ir::TypeRef;

TypeRef simple(TypeKind kind) { return ir::simple_type(kind); }

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

class Emitter {
 public:
  Emitter(Code& code, std::string name, CodeFile& file, ir::Graph& graph, Emitter* outer)
      : code_(code), name_(std::move(name)), file_(file), builder_(graph), outer_(outer), frames_(1) {}

  void run(const FunctionSyntax& syntax, ir::Function& made) {
    builder_.set_location(file_.locate(syntax.start));
    for (const ParameterSyntax& parameter : syntax.parameters) {
      const TypeRef type = code_.definitions.type(parameter.type);
      made.parameters.push_back({std::string(parameter.name), type, std::nullopt});
      if (!parameter.default_value.is(Form::absent))
        made.parameters.back().default_value = constant_value(code_, parameter.default_value, type);
      frames_[0][parameter.name] = {builder_.block()->add_input(type, std::string(parameter.name)), type};
    }
    if (!syntax.result.is(Form::absent)) result_ = code_.definitions.type(syntax.result);
    block(syntax.body);
    if (!ended_) finish(builder_.constant({}));
    for (const Typed& capture : captured_here_) made.parameters.push_back({capture.value->name(), capture.type, std::nullopt});
    made.returns.push_back(result_);
  }

  const std::vector<Typed>& captured_outside() const { return captured_outside_; }
  const TypeRef& result() const { return result_; }

 private:
  using Frame = std::unordered_map<std::string_view, Typed>;
  using Results = std::vector<Typed>;

  template <class Error = Unsupported>
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(name_ + " " + why);
  }

  void at(const Expression& expression) { at(expression.start); }
  void at(std::size_t start) {
    builder_.set_location(file_.locate(start));
    if (!code_.traced) code_.traced = file_.traced(start);
  }

  // Variables.
  const Typed* find(std::string_view name) {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame)
      if (const auto found = frame->find(name); found != frame->end()) return &found->second;
    const Typed* outside = outer_ ? outer_->find(name) : nullptr;
    if (!outside) return nullptr;
    captured_outside_.push_back(*outside);
    const Typed inside{top_input(outside->type, name), outside->type};
    captured_here_.push_back(inside);
    return &(frames_[0][name] = inside);
  }

  ir::Value* top_input(const TypeRef& type, std::string_view name) {
    ir::Block* top = builder_.block();
    while (top->parent()) top = top->parent();
    return top->add_input(type, std::string(name));
  }

  // A variable of a block around keeps its type.
  void set(std::string_view name, Typed value) {
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

  // Statements.
  void block(const std::vector<Statement>& statements) {
    for (const Statement& each : statements) statement(each);
  }

  void statement(const Statement& each) {
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

  void returns(const Statement& each) {
    if (builder_.block()->owner()) fail("returns from within a block");
    const Typed value = each.values.empty() ? builder_.constant({}) : values(each.values, each.unpacks, result_);
    finish(value);
  }

  void finish(const Typed& value) {
    if (!result_) result_ = value.type;
    const auto made = converted(value, result_, true, &builder_, code_.definitions);
    if (!made) fail("returns a " + annotation(*value.type) + " in place of a " + annotation(*result_));
    builder_.block()->add_output(made->value);
    ended_ = true;
  }

  Typed values(const std::vector<Expression>& each, bool is_tuple, const TypeRef& hint) {
    if (each.size() == 1 && !is_tuple) return expression(each[0], hint);
    Results made;
    for (const Expression& value : each) made.push_back(expression(value));
    return tuple(made);
  }

  Typed tuple(const Results& parts, const TypeRef& type = nullptr) {
    std::vector<TypeRef> types;
    for (const Typed& part : parts) types.push_back(part.type);
    return builder_.add("prim::TupleConstruct", parts, type ? type : ir::tuple_of(std::move(types)));
  }

  void assign(const Statement& each) {
    if (each.values.empty()) return;  // x : int
    if (each.targets.size() == 1 && !each.unpacks) return target(each.targets[0], assigned(each));
    Results made;
    if (each.values.size() > 1)
      for (const Expression& value : each.values) made.push_back(expression(value));
    else
      made = unpacked(each.values[0], each.targets.size());
    if (made.size() != each.targets.size()) fail("unpacks " + std::to_string(made.size()) + " values");
    for (std::size_t i = 0; i < made.size(); ++i) target(each.targets[i], made[i]);
  }

  Typed assigned(const Statement& each) {
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

  Typed as_type(const Typed& value, const TypeRef& type) {
    const auto made = converted(value, type, true, &builder_, code_.definitions);
    if (!made) fail("annotates a " + annotation(*value.type) + " as " + annotation(*type));
    return {made->value, type};
  }

  void target(const Expression& target, const Typed& value) {
    if (target.is(Form::name)) return set(target.text, value);
    if (!target.is(Form::attribute)) fail("assigns to what is neither a variable nor an attribute");
    const Typed object = expression(target.parts[0]);
    const ClassDefinition* cls = class_of(object.type);
    const Attribute* attribute = cls ? cls->attribute(target.text) : nullptr;
    if (!attribute) fail("sets an attribute that its class lacks: " + std::string(target.text));
    const Typed stored = as_type(value, attribute->type);
    at(target);
    builder_.add("prim::SetAttr", {object, stored})->set_attribute("name", {std::string(target.text)});
  }

  Results unpacked(const Expression& value, std::size_t count) {
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

  Typed condition(const Expression& value) {
    const Typed made = expression(value);
    if (made.type->kind == TypeKind::boolean) return made;
    at(value);
    return single(apply("aten::Bool", {{made}, {}}));
  }

  void branch(const Statement& each) {
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

  void merge(ir::Node* node, std::string_view name, const Frame& then, const Frame& otherwise) {
    const Typed* before = find(name);
    const auto in = [&](const Frame& frame) -> const Typed* {
      const auto found = frame.find(name);
      return found == frame.end() ? before : &found->second;
    };
    const Typed *a = in(then), *b = in(otherwise);
    if (!a || !b) return;  // unknown afterwards
    const TypeRef type = before ? before->type : unified_or_union(a->type, b->type, code_.definitions);
    node->blocks()[0]->add_output(a->value);
    node->blocks()[1]->add_output(b->value);
    set(name, {node->add_output(type), type});
  }

  // One frame holds what each iteration begins with, the one above it what the body sets.
  void loop(const Statement& each) {
    const bool counts = each.kind == Statement::Kind::for_range;
    Typed limit, goes_on;
    if (counts)
      limit = as_type(expression(each.values[0]), simple(TypeKind::integer));
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
    ir::Value* trip = body->add_input(simple(TypeKind::integer));
    for (std::size_t i = 0; i < carried.size(); ++i)
      frames_.back()[carried[i]] = {body->add_input(inputs[i + 2].type, plain_name(carried[i])), inputs[i + 2].type};
    frames_.emplace_back();
    ir::Block* outside = builder_.enter(body);
    if (counts) set(each.targets[0].text, {trip, simple(TypeKind::integer)});
    block(each.body);
    body->add_output(counts ? goes_on.value : condition(each.values[0]).value);
    for (const std::string_view name : carried) body->add_output(find(name)->value);
    builder_.enter(outside);
    frames_.pop_back();
    frames_.pop_back();
    for (std::size_t i = 0; i < carried.size(); ++i) set(carried[i], {node->add_output(inputs[i + 2].type), inputs[i + 2].type});
  }

  void with(const Statement& each) {
    const Typed object = expression(each.values[0]);
    const ClassDefinition* cls = class_of(object.type);
    const auto result = [&](const char* method) {
      const FunctionSyntax* syntax = cls ? cls->method(method) : nullptr;
      if (!syntax) fail("enters an object without the method " + std::string(method));
      return code_.definitions.type(syntax->result);
    };
    at(each.start);
    const Typed entered = builder_.add("prim::Enter", {object}, result("__enter__"));
    if (!each.targets.empty()) target(each.targets[0], entered);
    block(each.body);
    at(each.start);
    builder_.add("prim::Exit", {object}, result("__exit__"));
  }

  // Expressions.
  Typed expression(const Expression& each, const TypeRef& hint = nullptr) {
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

  TypeRef hint_of(const TypeRef& hint, std::size_t place) const {
    return element_of(hint ? ir::without_optional(hint) : nullptr, place);
  }

  Typed literal(const Expression& each, const TypeRef& hint) {
    at(each);
    ir::Constant value = constant_value(code_, each, hint);
    const TypeRef type = value.get<ir::TensorView>() ? ir::tensor_type() : constant_type(each, value);
    return builder_.constant(std::move(value), type);
  }

  TypeRef constant_type(const Expression& each, const ir::Constant& value) const {
    if (!value.get<ir::ObjectConstant>()) return ir::type_of(value);
    const auto place = static_cast<std::size_t>(std::stoul(std::string(each.text.substr(1))));
    return code_.constants.at(place).second;
  }

  // What all are; stated where the code says so.
  TypeRef common(const Results& values, std::size_t first, std::size_t step, TypeRef type) {
    const bool stated = type != nullptr;
    for (std::size_t i = first; i < values.size(); i += step) {
      if (!type)
        type = values[i].type;
      else if (const TypeRef both = unified(type, values[i].type, code_.definitions); !stated)
        type = both ? both : unified_or_union(type, values[i].type, code_.definitions);
    }
    return type;
  }

  Typed list(const Expression& each, const TypeRef& hint) {
    const TypeRef stated = hint && ir::without_optional(hint)->kind == TypeKind::list ? hint_of(hint, 0) : nullptr;
    Results items;
    for (const Expression& part : each.parts) items.push_back(expression(part, stated));
    if (stated)
      for (Typed& item : items) item = as_type(item, stated);
    at(each);
    const TypeRef element = common(items, 0, 1, stated);
    return builder_.add("prim::ListConstruct", items, ir::list_of(element ? element : ir::tensor_type()));
  }

  Typed dict(const Expression& each, const TypeRef& hint) {
    const bool stated = hint && ir::without_optional(hint)->kind == TypeKind::dict;
    Results items;
    for (std::size_t i = 0; i < each.parts.size(); ++i)
      items.push_back(expression(each.parts[i], stated ? hint_of(hint, i % 2) : nullptr));
    at(each);
    const TypeRef key = common(items, 0, 2, stated ? hint_of(hint, 0) : nullptr);
    const TypeRef value = common(items, 1, 2, stated ? hint_of(hint, 1) : nullptr);
    return builder_.add("prim::DictConstruct", items,
                        ir::dict_of(key ? key : simple(TypeKind::string), value ? value : ir::tensor_type()));
  }

  // Whether the chain of names begins with a word of the format, not with a variable.
  bool is_global(const std::string& chain) {
    const std::string root = chain.substr(0, chain.find('.'));
    return (root == "torch" || root == "ops" || root == "__torch__" || root == "CONSTANTS") && !find(name_in(root));
  }
  std::string_view name_in(const std::string& root) const { return root; }

  Typed attribute(const Expression& each) {
    const std::string chain = dotted(each);
    if (!chain.empty() && is_global(chain)) return literal(each, nullptr);
    const Typed object = expression(each.parts[0]);
    at(each);
    return attribute(object, each.text);
  }

  Typed attribute(const Typed& object, std::string_view name) {
    if (object.type->kind == TypeKind::tuple) {
      const auto field = std::ranges::find(object.type->field_names, name);
      if (field == object.type->field_names.end()) fail("reads the field " + std::string(name) + " of a tuple");
      return item(object, field - object.type->field_names.begin());
    }
    const ClassDefinition* cls = class_of(object.type);
    if (!cls) fail("reads the attribute " + std::string(name) + " of a " + annotation(*object.type));
    if (cls->kind == ClassDefinition::Kind::enumeration) {
      if (name == "name") return builder_.add("prim::EnumName", {object}, simple(TypeKind::string));
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

  Typed item(const Typed& tuple, std::ptrdiff_t place) {
    const auto size = static_cast<std::ptrdiff_t>(tuple.type->elements.size());
    if (place < -size || place >= size) fail("reads beyond the end of a tuple");
    const TypeRef& type = tuple.type->elements[static_cast<std::size_t>(place < 0 ? place + size : place)];
    const Typed index = builder_.constant({static_cast<std::int64_t>(place)});
    return builder_.add("prim::TupleIndex", {tuple, index}, type);
  }

  Typed subscript(const Expression& each, const Typed& container) {
    if (each.parts.size() != 2) fail("has a subscript of several indices");
    const Expression& index = each.parts[1];
    const bool is_tuple = container.type->kind == TypeKind::tuple;
    if (index.is(Form::slice)) {
      if (!is_tuple) fail("slices a " + annotation(*container.type));
      return part_of_tuple(each, container);
    }
    const Typed key = expression(index);
    at(each);
    if (!is_tuple) return single(apply("aten::__getitem__", {{container, key}, {}}));
    const ir::Constant* known = ir::constant_of(key.value);
    if (known && known->get<std::int64_t>()) return item(container, *known->get<std::int64_t>());
    const TypeRef type = common(members(container), 0, 1, nullptr);
    return builder_.add("prim::TupleIndex", {container, key}, type);
  }

  static Results members(const Typed& tuple) {
    Results made;
    for (const TypeRef& element : tuple.type->elements) made.push_back({nullptr, element});
    return made;
  }

  Typed part_of_tuple(const Expression& each, const Typed& container) {
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

  // Calls.
  Typed single(const Results& results) {
    if (results.size() == 1) return results[0];
    return results.empty() ? builder_.constant({}) : tuple(results);
  }

  Arguments arguments(const Expression& each, std::size_t first = 1) {
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

  Results call(const Expression& each) {
    const Expression& callee = each.parts[0];
    if (callee.is(Form::name)) return special(each, callee.text);
    if (!callee.is(Form::attribute)) fail("calls what is no function");
    const std::string chain = dotted(callee);
    if (!chain.empty() && is_global(chain)) return global(each, chain);
    if (callee.text == "tolist") fail("has a tolist() without its type");
    const Typed object = expression(callee.parts[0]);
    return method(each, object, std::string(callee.text));
  }

  Results global(const Expression& each, const std::string& chain) {
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

  Results called(const Expression& each, const FunctionDefinition& function, const Typed& callable) {
    Results inputs = signature(*function.syntax, {}, arguments(each));
    inputs.insert(inputs.begin(), callable);
    at(each);
    return {builder_.add("prim::CallFunction", inputs, code_.definitions.type(function.syntax->result))};
  }

  Typed created(const Expression& each, const std::string& name) {
    const ClassDefinition* cls = code_.definitions.find_class(name);
    if (!cls || !cls->type) fail<ModelError>("makes an object of " + name + ", which its code lacks");
    at(each);
    return builder_.add("prim::CreateObject", {}, cls->type);
  }

  // The arguments in the order of the parameters, as what these are.
  Results signature(const FunctionSyntax& function, Results given, const Arguments& more) {
    given.insert(given.end(), more.positional.begin(), more.positional.end());
    if (given.size() > function.parameters.size()) fail("calls " + std::string(function.name) + " with too many arguments");
    Results inputs;
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
      const ParameterSyntax& parameter = function.parameters[i];
      const bool self = i == 0 && parameter.type.is(Form::absent);  // of an interface's method
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

  Typed as_argument(const Typed& value, const TypeRef& type) {
    const auto made = converted(value, type, true, &builder_, code_.definitions);
    if (!made) fail("passes a " + annotation(*value.type) + " in place of a " + annotation(*type));
    return *made;
  }

  Results method(const Expression& each, const Typed& object, const std::string& name) {
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

  // Of a class that no archive defines. A method yields one value.
  Results custom_method(const Expression& each, const Typed& object, const ClassDefinition& cls, const std::string& name) {
    const Arguments given = arguments(each);
    Results inputs{object};
    TypeRef type = method_of_packed(cls.name, name);
    if (type) {
      inputs.insert(inputs.end(), given.positional.begin(), given.positional.end());
    } else {
      const Stubs::Stub& stub = code_.stubs.find(cls.name + "." + name, code_.definitions);
      for (const Typed& input : stub.inputs(given, builder_)) inputs.push_back(input);
      const std::vector<TypeRef> types = stub.results();
      type = types.size() == 1 ? types[0] : types.empty() ? simple(TypeKind::none) : ir::tuple_of(types);
    }
    at(each);
    ir::Node* node = builder_.add("prim::CallMethod", inputs);
    node->set_attribute("name", {name});
    return outputs(node, {type});
  }

  const ClassDefinition* class_of(const TypeRef& type) {
    if (type->kind != TypeKind::named && type->kind != TypeKind::module) return nullptr;
    return code_.definitions.find_class(type->name);
  }

  Results operation(const Expression& each, const std::string& op) {
    const Arguments given = arguments(each);
    at(each);
    return apply(op, given);
  }

  Results apply(const std::string& op, Arguments given) {
    complete(op, code_.version, given, builder_);
    const auto overloads = code_.schemas.overloads(op);
    if (overloads.empty()) return apply_stub(op, code_.stubs.find(op, code_.definitions), given);
    const auto matched = match(overloads, given, builder_, code_.definitions);
    if (!matched) fail("calls " + op + " with arguments that fit none of its overloads");
    if (const auto upgraded = upgrade(*matched, code_.version, builder_)) return {*upgraded};
    ir::Node* node = builder_.add(op, matched->inputs);
    node->set_overload(matched->schema->overload);
    return outputs(node, matched->results);
  }

  Results apply_stub(const std::string& op, const Stubs::Stub& stub, const Arguments& given) {
    const Results inputs = stub.inputs(given, builder_);
    return outputs(builder_.add(op, inputs), stub.results());
  }

  static Results outputs(ir::Node* node, const std::vector<TypeRef>& types) {
    Results results;
    for (const TypeRef& type : types) results.push_back({node->add_output(type), type});
    return results;
  }

  // Words of the format that are called as functions.
  Results special(const Expression& each, std::string_view name) {
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

  Results cast(const Expression& each, std::string_view name) {
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

  Typed annotated(const Expression& each) {
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

  // x.tolist() as the type says: its depth and the kind of number.
  Typed listed(const Expression& each, const Typed& tensor, const TypeRef& type) {
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

  Typed is_instance(const Expression& each) {
    const Typed value = expression(each.parts[1]);
    ir::ListConstant types{simple(TypeKind::string), {}};
    const Expression& stated = each.parts[2];
    if (stated.is(Form::tuple))
      for (const Expression& type : stated.parts) types.items.push_back({annotation(*code_.definitions.type(type))});
    else
      types.items.push_back({annotation(*code_.definitions.type(stated))});
    at(each);
    ir::Node* node = builder_.add("prim::isinstance", {value});
    node->set_attribute("types", {std::move(types)});
    return {node->add_output(simple(TypeKind::boolean)), simple(TypeKind::boolean)};
  }

  Typed forked(const Expression& each) {
    const auto found = functions_.find(each.parts[1].text);
    if (found == functions_.end()) fail("forks what is no function of its own");
    ir::Function made;
    Emitter inner(code_, name_, file_, made.graph, this);
    inner.run(*found->second, made);
    at(each);
    ir::Node* node = builder_.add("prim::fork", inner.captured_outside());
    node->set_attribute("Subgraph", {ir::FunctionConstant{code_.outlined(name_ + "$fork", std::move(made))}});
    ir::Type type;
    type.kind = TypeKind::future;
    type.elements.push_back(inner.result());
    const auto future = std::make_shared<const ir::Type>(std::move(type));
    return {node->add_output(future), future};
  }

  Code& code_;
  std::string name_;
  CodeFile& file_;
  GraphBuilder builder_;
  Emitter* outer_;
  std::vector<Frame> frames_;
  std::map<std::string_view, const FunctionSyntax*> functions_;  // defined in this one
  std::vector<Typed> captured_outside_, captured_here_;          // the same variables, outside and as inputs of this graph
  TypeRef result_;
  bool ended_ = false;
};

}  // namespace

ir::Function emit(Code& code, const std::string& name, const FunctionSyntax& syntax, CodeFile& file) {
  ir::Function made;
  made.name = name;
  Emitter(code, name, file, made.graph, nullptr).run(syntax, made);
  return made;
}

}  // namespace compatcheck::frontend::native

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "compatcheck/error.h"
#include "ir/control_flow.h"
#include "ir/origin.h"
#include "passes/budget.h"
#include "passes/loops.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/sort_lists.h"
#include "process/spell_count.h"

namespace compatcheck::passes {
namespace {

constexpr std::size_t deepest_call = 400;
constexpr std::size_t most_nodes = 400'000;  // nodes of usual size that inlining may make
constexpr std::size_t most_choices = 16;     // most modules among which a number chooses that only the running model knows

// An object of the program, and the attribute path by which this graph got at it.
struct Reached {
  std::uint32_t object = 0;
  std::string path;
};

// Every node has a copy of its path: one that nobody would read doesn't grow.
std::string join(const std::string& path, const std::string& name) {
  constexpr std::size_t longest_path = 1000;
  if (path.empty()) return name.substr(0, longest_path);
  return path.size() + name.size() > longest_path ? path : path + "." + name;
}

bool has_source(const ir::LocationRef& innermost) {
  for (const ir::Location* place = innermost.get(); place; place = place->caller.get())
    if (ir::origin_of(*place) != ir::Origin::archive) return true;
  return false;
}

// Behind the tracer's frames of a recorded stack stands the script that made the file: the caller takes its place.
ir::LocationRef called_from(const ir::LocationRef& here, const ir::LocationRef& caller) {
  auto copy = std::make_shared<ir::Location>(*here);
  const ir::LocationRef next = here->caller;
  copy->caller = next && ir::origin_of(*next) != ir::Origin::tracer ? called_from(next, caller) : caller;
  return copy;
}

const std::string* text_attribute(const ir::Node& node, std::string_view name) {
  const ir::Constant* attribute = node.attribute(name);
  return attribute ? attribute->get<std::string>() : nullptr;
}

class Inliner {
 public:
  Inliner(ir::Graph& graph, const ir::Program& program, const ir::Watch& watch)
      : graph_(graph), program_(program), watch_(watch) {
    for (const auto& [name, function] : program.functions)
      ir::for_each_node(*function.graph.top(), [&](const ir::Node* node) {
        if (node->is("prim::SetAttr"))
          if (const std::string* attribute = text_attribute(*node, "name")) reassigned_.insert(*attribute);
      });
  }

  std::size_t run() {
    visit_block(*graph_.top());
    return inlined_;
  }

 private:
  struct Call {
    const ir::Function* function = nullptr;
    std::optional<Reached> self;
    std::span<ir::Value* const> arguments;
  };

  void visit_block(ir::Block& block) { visit_until(block.first(), nullptr); }

  // [first, end) of one block; a call's copied body is visited in its place.
  void visit_until(ir::Node* first, const ir::Node* end) {
    for (ir::Node* node = first; node && node != end;) {
      ir::Node* next = node->next();
      visit(node);
      node = next;
    }
  }

  void visit(ir::Node* node) {
    if (node->is("prim::Loop") && picks_modules(*node)) {
      ir::Node *const before = node->previous(), *const behind = node->next();
      ir::Block* const block = node->owner();
      if (unroll_loop(node, unrolling_)) return visit_until(before ? before->next() : block->first(), behind);
    }
    for (ir::Block* inner : node->blocks()) visit_block(*inner);
    if (node->is("prim::GetAttr"))
      follow_attribute(*node);
    else if (node->is("prim::ModuleContainerIndex"))
      follow_index(node);
    else if (node->is("prim::Constant"))
      follow_constant(*node);
    else if (node->is("prim::unchecked_cast"))
      follow_cast(*node);
    else if (node->is("prim::CallMethod") || node->is("prim::CallFunction"))
      inline_call(node);
    else if (const auto sorting = sorting_of(*node, program_))
      take_body(node, *sorting, node->inputs(), node->module());
    else if (node->is("aten::wait"))
      drop_wait(node);
    else if (node->is("prim::fork") && only_awaited(*node))
      inline_call(node);
  }

  // ---- Which object a value is

  const Reached* reached(const ir::Value* value) const {
    const auto at = reached_.find(value);
    return at == reached_.end() ? nullptr : &at->second;
  }

  void follow_constant(const ir::Node& node) {
    if (reached_.contains(node.output())) return;
    const ir::Constant* constant = ir::constant_of(node.output());
    if (const auto* object = constant->get<ir::ObjectConstant>()) reached_[node.output()] = {object->object, ""};
  }

  void follow_cast(const ir::Node& node) {
    if (const Reached* from = reached(node.input(0))) reached_[node.output()] = Reached(*from);
  }

  const ir::Class* class_of(std::uint32_t object) const {
    if (object >= program_.objects.size()) return nullptr;
    const auto at = program_.classes.find(program_.objects[object].class_name);
    return at == program_.classes.end() ? nullptr : &at->second;
  }

  void follow_attribute(const ir::Node& node) {
    const std::string* name = text_attribute(node, "name");
    const Reached* holder = reached(node.input(0));
    const ir::Class* type = holder ? class_of(holder->object) : nullptr;
    if (!type || !name || reassigned_.contains(*name)) return;
    const auto& attributes = type->attributes;
    const auto at = std::find_if(attributes.begin(), attributes.end(), [&](const auto& a) { return a.name == *name; });
    const auto index = static_cast<std::size_t>(at - attributes.begin());
    if (at == attributes.end() || index >= program_.objects[holder->object].attributes.size()) return;
    if (const auto* object = program_.objects[holder->object].attributes[index].get<ir::ObjectConstant>())
      reached_[node.output()] = {object->object, join(holder->path, *name)};
  }

  using Modules = std::vector<std::pair<std::string, std::uint32_t>>;  // names and objects

  // Returns the modules of a ModuleList or ModuleDict, in order.
  Modules modules_of(const Reached& holder) const {
    Modules modules;
    const ir::Class* type = class_of(holder.object);
    if (!type) return modules;
    const auto& values = program_.objects[holder.object].attributes;
    for (std::size_t i = 0; i < type->attributes.size() && i < values.size(); ++i)
      if (const auto* object = values[i].get<ir::ObjectConstant>())
        modules.emplace_back(type->attributes[i].name, object->object);
    return modules;
  }

  // self.layers[1] of a ModuleList, self.heads["mask"] of a ModuleDict.
  void follow_index(ir::Node* node) {
    const Reached* holder = reached(node->input(0));
    const ir::Constant* index = ir::constant_of(node->input(1));
    if (!holder || !index) return;
    const Modules modules = modules_of(*holder);
    auto found = modules.end();
    if (const auto* key = index->get<std::string>())
      found = std::find_if(modules.begin(), modules.end(), [&](const auto& module) { return module.first == *key; });
    else if (const auto* number = index->get<std::int64_t>())
      if (const auto at = *number < 0 ? *number + std::ssize(modules) : *number; at >= 0 && at < std::ssize(modules))
        found = modules.begin() + at;
    if (found != modules.end()) become_object(node, {found->second, join(holder->path, found->first)});
  }

  ir::Value* object_before(ir::Node* place, Reached object, const ir::TypeRef& type) {
    ir::Value* constant = constant_before(place, {ir::ObjectConstant{object.object}}, type);
    constant->producer()->set_attribute("path", {object.path});
    reached_[constant] = std::move(object);
    return constant;
  }

  void become_object(ir::Node* node, Reached object) {
    replace(node->output(), object_before(node, std::move(object), node->output()->type()));
    node->erase();
  }

  // ---- Modules that a number or a text chooses

  // The iteration's number picks a module: after unrolling it is known which.
  static bool picks_modules(const ir::Node& loop) {
    return std::ranges::any_of(ir::LoopView(loop).iteration()->uses(),
                               [](const ir::Use& use) { return use.user->is("prim::ModuleContainerIndex"); });
  }

  // `call` of a module that only the running model chooses: branches with a call of each module. TorchScript raises if there is
  // none: -1 isn't the last one.
  void choose(ir::Node* call) {
    ir::Node* index = call->is("prim::CallMethod") && !call->inputs().empty() ? call->input(0)->producer() : nullptr;
    const Reached* holder = index && index->is("prim::ModuleContainerIndex") ? reached(index->input(0)) : nullptr;
    const Modules modules = holder ? modules_of(*holder) : Modules();
    if (modules.empty() || modules.size() > most_choices || !call->attribute("name")) return;
    nodes_ += 4 * modules.size();
    const bool by_number = ir::is(index->input(1)->type(), ir::TypeKind::integer);
    const std::string path = holder->path;
    const auto types = output_types(*call);
    ir::Node* const before = call->previous();
    ir::Value* key = index->input(1);
    ir::Node* place = call;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      const auto& [name, object] = modules[i];
      const ir::Constant number{static_cast<std::int64_t>(i)}, text{name};
      ir::Value* operands[] = {key, constant_before(place, by_number ? number : text)};
      const ir::TypeRef boolean = ir::simple_type(ir::TypeKind::boolean);
      ir::Value* condition = node_before(place, "aten::eq", operands, {&boolean, 1})->output();
      condition->producer()->copy_origin(*call);
      ir::Node* branch = node_before(place, "prim::If", {&condition, 1}, types);
      branch->copy_origin(*call);
      for (std::size_t o = 0; o < types.size(); ++o)
        if (i == 0)
          replace(call->output(o), branch->output(o));
        else
          place->owner()->add_output(branch->output(o));
      ir::Block* chosen = branch->add_block();
      std::vector<ir::Value*> inputs(call->inputs().begin(), call->inputs().end());
      inputs[0] = object_before(chosen->return_node(), {object, join(path, name)}, index->output()->type());
      ir::Node* of_module = node_before(chosen->return_node(), call->op(), inputs, types);
      of_module->copy_origin(*call);
      of_module->set_attribute("name", *call->attribute("name"));
      for (ir::Value* output : of_module->outputs()) chosen->add_output(output);
      place = branch->add_block()->return_node();
    }
    raise_before(place, "prim::RaiseException",
                 by_number ? "no module of the container has this number" : "no module of the container has this name",
                 {std::string("RuntimeError")}, *call);
    for (const ir::TypeRef& type : types)
      place->owner()->add_output(node_before(place, "prim::Uninitialized", {}, {&type, 1})->output());
    visit_until(before ? before->next() : call->owner()->first(), call);
    call->erase();
    erase_if_unused(index);
  }

  // ---- Calls

  // Whether a fork's result is only waited for: it may as well run here.
  static bool only_awaited(const ir::Node& fork) {
    const auto uses = fork.outputs().size() == 1 ? fork.output()->uses() : std::span<const ir::Use>();
    return std::all_of(uses.begin(), uses.end(), [](const ir::Use& use) { return use.user->is("aten::wait"); });
  }

  // After its fork was inlined, a wait is given the value itself.
  static void drop_wait(ir::Node* wait) {
    if (ir::is(wait->input(0)->type(), ir::TypeKind::future)) return;
    wait->output()->replace_all_uses_with(wait->input(0));
    wait->erase();
  }

  std::optional<Call> resolve(const ir::Node& node) const {
    Call call;
    if (node.is("prim::fork")) {
      const ir::Constant* body = node.attribute("Subgraph");
      const auto* function = body ? body->get<ir::FunctionConstant>() : nullptr;
      if (!function) return std::nullopt;
      call.function = find(function->name);
      call.arguments = node.inputs();
    } else if (node.is("prim::CallFunction")) {
      const ir::Constant* constant = ir::constant_of(node.input(0));
      const auto* function = constant ? constant->get<ir::FunctionConstant>() : nullptr;
      if (!function) return std::nullopt;
      call.function = find(function->name);
      call.arguments = node.inputs().subspan(1);
    } else {
      const std::string* name = text_attribute(node, "name");
      if (!name || node.inputs().empty()) return std::nullopt;
      if (const Reached* self = reached(node.input(0))) call.self = *self;
      const ir::Class* type = call.self ? class_of(call.self->object) : class_named(node.input(0)->type());
      if (!type || type->is_interface) return std::nullopt;
      const auto method = type->methods.find(*name);
      if (method == type->methods.end()) return std::nullopt;
      call.function = find(method->second);
      call.arguments = node.inputs();
    }
    if (!call.function) return std::nullopt;
    return call;
  }

  const ir::Function* find(const std::string& name) const {
    const auto at = program_.functions.find(name);
    return at == program_.functions.end() ? nullptr : &at->second;
  }

  const ir::Class* class_named(const ir::TypeRef& type) const {
    if (!type || type->name.empty()) return nullptr;
    const auto at = program_.classes.find(type->name);
    return at == program_.classes.end() ? nullptr : &at->second;
  }

  void inline_call(ir::Node* node) {
    const auto call = resolve(*node);
    if (!call) return choose(node);
    const std::string& name = call->function->name;
    const std::pair key(name, call->self ? static_cast<std::int64_t>(call->self->object) : -1);
    if (!active_.insert(key).second) throw ModelError("the model's code calls itself without end: " + name);
    if (active_.size() > deepest_call)
      throw ModelError("calls are nested more than " + std::to_string(deepest_call) + " deep: " + name);

    const ir::Graph& body = call->function->graph;
    if (call->self && !body.inputs().empty() && call->self->object < program_.objects.size())
      reached_[node->input(0)] = *call->self;
    const std::vector<ir::Value*> arguments = complete(*call, node);
    if (body.outputs().size() != node->outputs().size())
      throw ModelError(name + " returns " + spell_count(body.outputs().size(), "value") + " where its caller takes " +
                       std::to_string(node->outputs().size()));
    take_body(node, body, arguments, call->self ? call->self->path : node->module());
    active_.erase(key);
  }

  // A copy of what `body` does takes the place of the node.
  void take_body(ir::Node* node, const ir::Graph& body, std::span<ir::Value* const> arguments, const std::string& module) {
    ir::Node* before = node->previous();
    const std::vector<ir::Value*> results = graph_.copy_block_contents(*body.top(), arguments, node->owner(), node);
    ir::Node* first = before ? before->next() : node->owner()->first();
    mark_origin(first, node, node->location(), module);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i]->name().empty()) results[i]->set_name(node->output(i)->name());
      node->output(i)->replace_all_uses_with(results[i]);
    }
    ++inlined_;
    visit_until(first, node);
    node->erase();
  }

  // The parameters' defaults stand in for arguments that the call leaves out.
  std::vector<ir::Value*> complete(const Call& call, ir::Node* node) {
    std::vector<ir::Value*> arguments(call.arguments.begin(), call.arguments.end());
    const auto& parameters = call.function->parameters;
    const std::size_t expected = call.function->graph.inputs().size();
    for (std::size_t i = arguments.size(); i < expected; ++i) {
      if (i >= parameters.size() || !parameters[i].default_value)
        throw ModelError("a call of " + call.function->name + " leaves out argument " + std::to_string(i + 1));
      ir::Node* constant = graph_.create_constant(*parameters[i].default_value);
      constant->insert_before(node);
      arguments.push_back(constant->output());
    }
    if (arguments.size() > expected) throw ModelError("a call of " + call.function->name + " has too many arguments");
    return arguments;
  }

  void mark_origin(ir::Node* first, const ir::Node* end, const ir::LocationRef& caller, const std::string& module) {
    std::unordered_map<const ir::Location*, ir::LocationRef> called;
    // A trace records the whole stack of each node, which says more than where the archive's own code calls.
    const bool has_own = has_source(caller);
    auto mark = [&](ir::Node* node) {
      watch_.step();
      node->set_module(module);
      if ((nodes_ += cost_of(*node)) > most_nodes)
        throw ModelError("inlining the model's calls gives more than " + std::to_string(most_nodes) + " nodes");
      if (!caller) return;
      ir::LocationRef& location = called[node->location().get()];
      if (!location && node->location()) {
        const bool whole_stack = node->location()->caller != nullptr;
        location = whole_stack && !has_own ? node->location() : called_from(node->location(), caller);
      }
      node->set_location(location ? location : caller);
    };
    for (ir::Node* node = first; node && node != end; node = node->next()) {
      mark(node);
      for (const ir::Block* block : node->blocks()) ir::for_each_node(*block, mark);
    }
  }

  ir::Graph& graph_;
  const ir::Program& program_;
  const ir::Watch& watch_;
  std::set<std::string, std::less<>> reassigned_;  // attributes that some prim::SetAttr writes
  std::unordered_map<const ir::Value*, Reached> reached_;
  std::set<std::pair<std::string, std::int64_t>> active_;
  Budget unrolling_{};
  std::size_t inlined_ = 0;
  std::size_t nodes_ = 0;
};

}  // namespace

std::size_t inline_calls(ir::Graph& graph, const ir::Program& program, const ir::Watch& watch) {
  return Inliner(graph, program, watch).run();
}

}  // namespace compatcheck::passes

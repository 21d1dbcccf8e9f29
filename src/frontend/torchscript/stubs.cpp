#include "frontend/torchscript/stubs.h"

#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <array>

#include "compatcheck/error.h"
#include "frontend/libtorch_message.h"
#include "frontend/torchscript/packed_parameters.h"

namespace compatcheck::frontend::torchscript {
namespace {

constexpr std::size_t most_attempts = 40;

bool registered(const std::string& name) { return !torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)).empty(); }

void refuse_to_run(torch::jit::Stack&) { throw ModelError("an operator whose library isn't loaded can't be run"); }

torch::jit::Operator stand_in(const c10::FunctionSchema& schema) {
  return {schema.name(),
          schema.overload_name(),
          schema.arguments(),
          schema.returns(),
          torch::jit::Operation(refuse_to_run),
          c10::AliasAnalysisKind::CONSERVATIVE};
}

std::vector<c10::Argument> results_of(const std::string& type) { return torch::jit::parseSchema("a::b() -> " + type).returns(); }

// Arguments of any type: the code doesn't tell which.
std::vector<c10::Argument> arguments_of(const CallShape& shape) {
  std::vector<c10::Argument> arguments;
  const auto add = [&](const std::string& argument, bool keyword, bool optional) {
    arguments.emplace_back(argument, c10::AnyType::get(), std::nullopt, optional ? std::optional(c10::IValue()) : std::nullopt,
                           keyword);
  };
  for (std::size_t i = 0; i < shape.most; ++i) add("arg" + std::to_string(i), false, i >= shape.fewest);
  for (const auto& [keyword, calls] : shape.keywords) add(keyword, true, calls < shape.calls);
  return arguments;
}

c10::FunctionSchema stub_schema(const std::string& name, const CallShape& shape, const std::string& results) {
  return {name, "", arguments_of(shape), results_of(results)};
}

// A method yields one value.
c10::TypePtr method_result(const std::string& results) {
  std::vector<c10::TypePtr> types;
  for (const c10::Argument& result : results_of(results)) types.push_back(result.type());
  if (types.empty()) return c10::NoneType::get();
  return types.size() == 1 ? types.front() : c10::TypePtr(c10::TupleType::create(types));
}

void define_method(torch::jit::CompilationUnit& unit, const c10::ClassTypePtr& cls, const std::string& name,
                   const CallShape& shape, const c10::TypePtr& result) {
  std::vector<c10::Argument> arguments = arguments_of(shape);
  arguments.insert(arguments.begin(), c10::Argument("self", cls));
  auto graph = std::make_shared<torch::jit::Graph>();
  for (const c10::Argument& argument : arguments) graph->addInput(argument.name())->setType(argument.type());
  graph->registerOutput(graph->insertNode(graph->createUninitialized(result))->output());
  torch::jit::Function* function = unit.create_function(c10::QualifiedName(*cls->name(), name), std::move(graph));
  function->setSchema({name, "", std::move(arguments), {c10::Argument("", result)}});
  cls->addMethod(function);
}

ir::TypeRef without_shape(const ir::TypeRef& type) { return ir::is(type, ir::TypeKind::tensor) ? ir::tensor_type() : type; }

}  // namespace

Stubs::Stubs(Sources& sources, const std::vector<std::string>& schemas) : sources_(sources) {
  for (const std::string& text : schemas) {
    try {
      users_[schema::parse(text).name].push_back(text);
    } catch (const TableError& error) {
      throw UsageError("schema \"" + text + "\": " + error.what());
    }
  }
  std::set<std::string> operators;
  for (const std::string& qualifier : sources.qualifiers()) {
    const std::string_view code = sources.text(qualifier);
    operators.merge(operators_named(code));
    for (const std::string& name : custom_classes_named(code))
      if (!torch::getCustomClass(name)) classes_.insert(name);
  }
  look_up(operators);
}

Stubs::~Stubs() {
  unregister_stubs();
  for (const c10::FunctionSchema& schema : registered_) torch::jit::deregisterOperator(schema);
}

void Stubs::add_schema(const std::string& text) {
  try {
    c10::FunctionSchema schema = torch::jit::parseSchema(text);
    torch::jit::registerOperator(stand_in(schema));
    registered_.push_back(std::move(schema));
    known_.push_back(text);
  } catch (const std::exception& error) {
    throw UsageError("schema \"" + text + "\" isn't one that libtorch takes: " + first_sentence(error.what()));
  }
}

bool Stubs::use_known_schema(const std::string& name) {
  if (const auto stated = users_.find(name); stated != users_.end()) {
    for (const std::string& text : stated->second) add_schema(text);
    return true;
  }
  const auto overloads = shipped_.overloads(name);
  for (const schema::Schema* overload : overloads) add_schema(schema::to_string(*overload));
  return !overloads.empty();
}

void Stubs::look_up(const std::set<std::string>& names) {
  std::set<std::string> unknown;
  for (const std::string& name : names)
    if (looked_up_.insert(name).second && !registered(name) && !use_known_schema(name)) unknown.insert(name);
  if (unknown.empty() && (classes_.empty() || attempts_ > 0)) return;
  const CallsInCode calls = find_calls(sources_, unknown, classes_);
  for (const auto& [name, shape] : calls.operators) operators_[name] = {shape, result_types(shape.use), 0};
  for (const auto& [cls, methods] : calls.methods)
    for (const auto& [name, shape] : methods) methods_[cls][name] = {shape, result_types(shape.use), 0};
  register_stubs();
}

void Stubs::define_classes(const std::shared_ptr<torch::jit::CompilationUnit>& unit) const {
  for (const std::string& name : classes_) {
    auto cls = c10::ClassType::create(c10::QualifiedName(name), unit, /*is_module=*/false);
    unit->register_type(cls);
    const auto methods = methods_.find(name);
    if (methods == methods_.end()) continue;
    for (const auto& [method, stub] : methods->second)
      define_method(*unit, cls, method, stub.shape, method_result(stub.results[stub.tried]));
  }
}

void Stubs::unregister_stubs() {
  for (const c10::FunctionSchema& schema : stubs_) torch::jit::deregisterOperator(schema);
  stubs_.clear();
}

void Stubs::register_stubs() {
  unregister_stubs();
  for (const auto& [name, op] : operators_) {
    stubs_.push_back(stub_schema(name, op.shape, op.results[op.tried]));
    torch::jit::registerOperator(stand_in(stubs_.back()));
  }
}

bool Stubs::learn_from(const std::string& refusal) {
  if (++attempts_ > most_attempts) return false;
  constexpr std::string_view unknown = "Unknown builtin op: ";
  if (const auto at = refusal.find(unknown); at != refusal.npos) {
    const std::string rest = refusal.substr(at + unknown.size());
    const std::string name = rest.substr(0, rest.find_first_of(".\n"));
    const std::size_t had = operators_.size() + known_.size();
    if (name.find("::") != name.npos) look_up({name});
    return operators_.size() + known_.size() > had;
  }
  return next_results();
}

std::vector<Stubs::Stub*> Stubs::guessed() {
  std::vector<Stub*> all;
  for (auto& [name, stub] : operators_) all.push_back(&stub);
  for (auto& [cls, methods] : methods_)
    for (auto& [name, stub] : methods) all.push_back(&stub);
  return all;
}

// Each one's other results in turn, the others at their likeliest.
bool Stubs::next_results() {
  const std::vector<Stub*> all = guessed();
  for (; varied_ < all.size(); ++varied_) {
    if (++all[varied_]->tried < all[varied_]->results.size()) {
      register_stubs();
      return true;
    }
    all[varied_]->tried = 0;
  }
  return false;
}

std::string Stubs::assumed_schema(const std::string& name, const Stub& op, const ir::Program& program) const {
  const c10::FunctionSchema stub = stub_schema(name, op.shape, op.results[op.tried]);
  std::vector<ir::TypeRef> types(stub.arguments().size());
  for (const auto& [qualified, function] : program.functions)
    ir::for_each_node(*const_cast<ir::Graph&>(function.graph).top(), [&](const ir::Node* node) {
      if (!node->is(name)) return;
      for (std::size_t i = 0; i < std::min(types.size(), node->inputs().size()); ++i)
        types[i] = common_type(types[i], without_shape(node->input(i)->type()));
    });
  // PyTorch's convention: a name that ends so writes to its first argument.
  const bool writes = name.ends_with("_") && !name.ends_with("__") && !types.empty() && ir::is(types[0], ir::TypeKind::tensor);
  std::string text = name + "(";
  bool keywords = false;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const c10::Argument& argument = stub.arguments()[i];
    if (i) text += ", ";
    if (argument.kwarg_only() && !keywords) text += "*, ", keywords = true;
    ir::TypeRef type = types[i] ? types[i] : ir::simple_type(ir::TypeKind::any);
    if (argument.default_value() && !ir::is(type, ir::TypeKind::optional) && !ir::is(type, ir::TypeKind::any))
      type = ir::optional_of(type);
    text += (writes && i == 0 ? "Tensor(a!)" : ir::to_string(*type)) + " " + argument.name();
    if (argument.default_value()) text += "=None";
  }
  const std::string& results = op.results[op.tried];
  return text + ") -> " + (writes && results == "Tensor" ? "Tensor(a!)" : results);
}

void Stubs::describe(ir::Program& program) const {
  using Kind = ir::LoadNote::Kind;
  program.stub_schemas = known_;
  for (const auto& [name, op] : operators_) {
    const std::string assumed = assumed_schema(name, op, program);
    program.stub_schemas.push_back(assumed);
    program.notes.push_back(
        {Kind::stub_operator, name, "no library registers " + name + "; its schema was assumed from its calls: " + assumed});
  }
  for (const std::string& name : classes_)
    program.notes.push_back({Kind::opaque_class, name, "no library registers the class " + name + "; its objects are opaque"});
}

}  // namespace compatcheck::frontend::torchscript

#include "frontend/torchscript/stubs.h"

#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/custom_class.h>

#include <cctype>

#include "compatcheck/error.h"
#include "frontend/libtorch_message.h"
#include "frontend/torchscript/packed_parameters.h"

namespace compatcheck::frontend::torchscript {
namespace {

constexpr std::size_t most_attempts = 40;
constexpr std::size_t most_arguments = 16;  // assumed for calls that can't be examined

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
std::vector<c10::Argument> arguments_of(const native::CallShape& shape) {
  std::vector<c10::Argument> arguments;
  const auto add = [&](const std::string& argument, bool keyword, bool optional) {
    arguments.emplace_back(argument, c10::AnyType::get(), std::nullopt, optional ? std::optional(c10::IValue()) : std::nullopt,
                           keyword);
  };
  for (std::size_t i = 0; i < shape.most; ++i) add("arg" + std::to_string(i), false, i >= shape.fewest);
  for (const auto& [keyword, calls] : shape.keywords) add(keyword, true, calls < shape.calls);
  return arguments;
}

// A method yields one value.
c10::TypePtr method_result(const std::string& results) {
  std::vector<c10::TypePtr> types;
  for (const c10::Argument& result : results_of(results)) types.push_back(result.type());
  if (types.empty()) return c10::NoneType::get();
  return types.size() == 1 ? types.front() : c10::TypePtr(c10::TupleType::create(types));
}

void define_method(torch::jit::CompilationUnit& unit, const c10::ClassTypePtr& cls, const std::string& name,
                   const native::CallShape& shape, const c10::TypePtr& result) {
  std::vector<c10::Argument> arguments = arguments_of(shape);
  arguments.insert(arguments.begin(), c10::Argument("self", cls));
  auto graph = std::make_shared<torch::jit::Graph>();
  for (const c10::Argument& argument : arguments) graph->addInput(argument.name())->setType(argument.type());
  graph->registerOutput(graph->insertNode(graph->createUninitialized(result))->output());
  torch::jit::Function* function = unit.create_function(c10::QualifiedName(*cls->name(), name), std::move(graph));
  function->setSchema({name, "", std::move(arguments), {c10::Argument("", result)}});
  cls->addMethod(function);
}

bool name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string_view name_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && name_character(text[end])) ++end;
  return text.substr(at, end - at);
}

// The names of two parts behind `prefix`, from where that stands: "ops.my_lib.scale".
std::set<std::string> names_behind(std::string_view prefix, std::string_view code) {
  std::set<std::string> found;
  for (std::size_t at = code.find(prefix); at != code.npos; at = code.find(prefix, at + 1)) {
    if (at > 0 && (name_character(code[at - 1]) || code[at - 1] == '.')) continue;
    const std::string_view space = name_at(code, at + prefix.size());
    const std::size_t dot = at + prefix.size() + space.size();
    if (space.empty() || dot >= code.size() || code[dot] != '.') continue;
    const std::string_view name = name_at(code, dot + 1);
    if (!name.empty()) found.insert(std::string(code.substr(at, dot + 1 + name.size() - at)));
  }
  return found;
}

// "ops.ns.name" as "ns::name".
std::set<std::string> operators_named(std::string_view code) {
  std::set<std::string> found;
  for (const std::string& name : names_behind("ops.", code)) {
    const auto dot = name.rfind('.');
    found.insert(name.substr(4, dot - 4) + "::" + name.substr(dot + 1));
  }
  return found;
}

}  // namespace

Stubs::Stubs(const Archive& archive, Sources& sources, const std::vector<std::string>& schemas) : archive_(archive) {
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
    for (const std::string& name : names_behind(custom_class_prefix, code))
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
  native::Definitions definitions(archive_.file(), archive_.directory());
  const auto is_missing = [&](const std::string& callee) {
    return unknown.contains(callee) || classes_.contains(callee.substr(0, callee.rfind('.')));
  };
  const auto calls = native::calls_of(definitions, is_missing);
  for (const auto& [callee, shape] : calls) assumed_.add(callee, shape);
  // Code that our parser refuses may call an operator anyhow.
  for (const std::string& name : unknown)
    if (!calls.contains(name)) assumed_.add(name, {.most = most_arguments, .calls = 1});
  register_stubs();
}

void Stubs::define_classes(const std::shared_ptr<torch::jit::CompilationUnit>& unit) const {
  for (const std::string& name : classes_) {
    auto cls = c10::ClassType::create(c10::QualifiedName(name), unit, /*is_module=*/false);
    unit->register_type(cls);
    for (const auto& [callee, stub] : assumed_.all())
      if (const auto dot = callee.rfind('.'); dot != callee.npos && callee.substr(0, dot) == name)
        define_method(*unit, cls, callee.substr(dot + 1), stub.shape, method_result(stub.result()));
  }
}

void Stubs::unregister_stubs() {
  for (const c10::FunctionSchema& schema : stubs_) torch::jit::deregisterOperator(schema);
  stubs_.clear();
}

void Stubs::register_stubs() {
  unregister_stubs();
  for (const auto& [name, stub] : assumed_.all()) {
    if (name.find("::") == name.npos) continue;  // a method
    stubs_.push_back({name, "", arguments_of(stub.shape), results_of(stub.result())});
    torch::jit::registerOperator(stand_in(stubs_.back()));
  }
}

bool Stubs::learn_from(const std::string& refusal) {
  if (++attempts_ > most_attempts) return false;
  constexpr std::string_view unknown = "Unknown builtin op: ";
  if (const auto at = refusal.find(unknown); at != refusal.npos) {
    const std::string rest = refusal.substr(at + unknown.size());
    const std::string name = rest.substr(0, rest.find_first_of(".\n"));
    const std::size_t had = assumed_.all().size() + known_.size();
    if (name.find("::") != name.npos) look_up({name});
    return assumed_.all().size() + known_.size() > had;
  }
  if (!assumed_.try_other_results()) return false;
  register_stubs();
  return true;
}

void Stubs::describe(ir::Program& program) const {
  program.stub_schemas = known_;
  assumed_.describe(program);
  for (const std::string& name : classes_)
    program.notes.push_back(
        {ir::LoadNote::Kind::opaque_class, name, "no library registers the class " + name + "; its objects are opaque"});
}

}  // namespace compatcheck::frontend::torchscript

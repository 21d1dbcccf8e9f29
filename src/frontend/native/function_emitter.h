// How a function's graph is made: parts of emitter.h's emit().
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/native/calls.h"
#include "frontend/native/emitter.h"

namespace compatcheck::frontend::native {

class FunctionEmitter {
 public:
  FunctionEmitter(Code& code, std::string name, CodeFile& file, ir::Graph& graph, FunctionEmitter* outer)
      : code_(code), name_(std::move(name)), file_(file), builder_(graph), outer_(outer), frames_(1) {}

  void run(const FunctionSyntax& syntax, ir::Function& made, const ir::TypeRef& self);
  const std::vector<Typed>& captured_outside() const { return captured_outside_; }
  const ir::TypeRef& result() const { return result_; }

 private:
  using Frame = std::unordered_map<std::string_view, Typed>;
  using Results = std::vector<Typed>;

  template <class Error = Unsupported>
  [[noreturn]] void fail(const std::string& why) const {
    const ir::LocationRef& place = builder_.location();
    throw Error(name_ + " " + why + (place ? " (" + place->file + ":" + std::to_string(place->line) + ")" : ""));
  }

  void at(const Expression& expression) { at(expression.start); }
  void at(std::size_t start);

  // Variables.
  const Typed* find(std::string_view name);
  ir::Block* top() const;
  ir::Value* top_input(const ir::TypeRef& type, std::string_view name);

  // A variable of a block around keeps its type.
  void set(std::string_view name, Typed value);

  // Statements.
  void block(const std::vector<Statement>& statements);
  void statement(const Statement& each);
  void returns(const Statement& each);
  void finish(const Typed& value);
  Typed values(const std::vector<Expression>& each, bool is_tuple, const ir::TypeRef& hint);
  Typed tuple(const Results& parts, const ir::TypeRef& type = nullptr);
  void assign(const Statement& each);
  Typed assigned(const Statement& each);
  Typed as_type(const Typed& value, const ir::TypeRef& type);
  void target(const Expression& target, const Typed& value, std::size_t from);  // `from`: the value's offset in the file
  Results unpacked(const Expression& value, std::size_t count);
  Typed condition(const Expression& value);
  void branch(const Statement& each);
  void merge(ir::Node* node, std::string_view name, const Frame& then, const Frame& otherwise);

  // One frame holds what each iteration begins with, the one above it what the body sets.
  void loop(const Statement& each);
  void with(const Statement& each);

  // Expressions.
  Typed expression(const Expression& each, const ir::TypeRef& hint = nullptr);
  ir::TypeRef hint_of(const ir::TypeRef& hint, std::size_t place) const;
  Typed literal(const Expression& each, const ir::TypeRef& hint);
  ir::TypeRef constant_type(const ir::Constant& value) const;

  // Returns the type of all values, or `type` where the code states it.
  ir::TypeRef common(const Results& values, std::size_t first, std::size_t step, ir::TypeRef type);
  Typed list(const Expression& each, const ir::TypeRef& hint);
  Typed dict(const Expression& each, const ir::TypeRef& hint);

  // Whether the chain of names begins with a word of the format, not with a variable.
  bool is_global(const Expression& chain);

  Typed attribute(const Expression& each);
  Typed attribute(const Typed& object, std::string_view name);
  Typed item(const Typed& tuple, std::ptrdiff_t place);
  Typed subscript(const Expression& each, const Typed& container);
  static Results members(const Typed& tuple);
  Typed part_of_tuple(const Expression& each, const Typed& container);

  // Calls.
  Typed single(const Results& results);
  Arguments arguments(const Expression& each, std::size_t first = 1);
  Results call(const Expression& each);
  Results global(const Expression& each, const std::string& chain);
  Results called(const Expression& each, const FunctionDefinition& function, const Typed& callable);
  Typed created(const Expression& each, const std::string& name);

  // The arguments in the order of the parameters, as what these are.
  Results signature(const FunctionSyntax& function, Results given, const Arguments& more);
  Typed as_argument(const Typed& value, const ir::TypeRef& type);
  Results method(const Expression& each, const Typed& object, const std::string& name);

  // Calls a method of a class that no archive defines. A method returns one value.
  Results custom_method(const Expression& each, const Typed& object, const ClassDefinition& cls, const std::string& name);
  const ClassDefinition* class_of(const ir::TypeRef& type);
  Results operation(const Expression& each, const std::string& op);
  Results apply(const std::string& op, Arguments given);
  Results apply_stub(const std::string& op, const Stubs::Stub& stub, const Arguments& given);
  static Results outputs(ir::Node* node, const std::vector<ir::TypeRef>& types);

  // Words of the format that are called as functions.
  Results special(const Expression& each, std::string_view name);
  Results cast(const Expression& each, std::string_view name);
  Typed annotated(const Expression& each);

  // x.tolist() as the type says: its depth and the kind of number.
  Typed listed(const Expression& each, const Typed& tensor, const ir::TypeRef& type);
  Typed is_instance(const Expression& each);
  Typed forked(const Expression& each);

  Code& code_;
  std::string name_;
  CodeFile& file_;
  GraphBuilder builder_;
  FunctionEmitter* outer_;
  std::vector<Frame> frames_;
  std::map<std::string_view, const FunctionSyntax*> functions_;  // defined in this one
  std::map<std::string, Typed> constants_;                       // long ones, by name, which stand at the top
  std::vector<Typed> captured_outside_, captured_here_;          // the same variables, outside and as inputs of this graph
  ir::TypeRef result_;
  bool ended_ = false;
};

}  // namespace compatcheck::frontend::native

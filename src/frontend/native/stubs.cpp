#include "frontend/native/stubs.h"

#include <algorithm>
#include <iterator>

#include "frontend/assumed_types.h"
#include "schema/schema.h"

namespace compatcheck::frontend::native {
namespace {

using ir::TypeKind;
using ir::TypeRef;

constexpr std::size_t most_attempts = 40;

std::string assumed_schema(const std::string& name, const Stubs::Stub& stub, const ir::Program& program) {
  const CallShape& shape = stub.shape;
  std::vector<TypeRef> types(shape.most + shape.keywords.size());
  for (const auto& [qualified, function] : program.functions)
    ir::for_each_node(*function.graph.top(), [&](const ir::Node* node) {
      if (!node->is(name)) return;
      for (std::size_t i = 0; i < std::min(types.size(), node->inputs().size()); ++i) {
        const TypeRef& type = node->input(i)->type();
        types[i] = common_type(types[i], ir::is(type, TypeKind::tensor) ? ir::tensor_type() : type);
      }
    });
  // PyTorch's convention: a name that ends so writes to its first argument.
  const bool writes = name.ends_with("_") && !name.ends_with("__") && !types.empty() && ir::is(types[0], TypeKind::tensor);
  std::string text = name + "(";
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool keyword = i >= shape.most;
    const auto named =
        keyword ? std::next(shape.keywords.begin(), static_cast<std::ptrdiff_t>(i - shape.most)) : shape.keywords.end();
    const bool optional = keyword ? named->second < shape.calls : i >= shape.fewest;
    if (i) text += ", ";
    if (i == shape.most) text += "*, ";
    TypeRef type = types[i] ? types[i] : ir::simple_type(TypeKind::any);
    if (optional && !ir::is(type, TypeKind::optional) && !ir::is(type, TypeKind::any)) type = ir::optional_of(type);
    text += (writes && i == 0 ? "Tensor(a!)" : ir::to_string(*type)) + " " + (keyword ? named->first : "arg" + std::to_string(i));
    if (optional) text += "=None";
  }
  return text + ") -> " + (writes && stub.result() == "Tensor" ? "Tensor(a!)" : stub.result());
}

}  // namespace

std::vector<TypeRef> Stubs::Stub::results() const {
  std::vector<TypeRef> types;
  for (const schema::Argument& each : schema::parse("a::b() -> " + result()).returns) types.push_back(each.type);
  return types;
}

std::vector<Typed> Stubs::Stub::inputs(const Arguments& given, GraphBuilder& builder) const {
  std::vector<Typed> made = given.positional;
  while (made.size() < shape.most) made.push_back(builder.constant({}));
  for (const auto& [keyword, calls] : shape.keywords) {
    const auto named = std::ranges::find(given.keywords, keyword, &std::pair<std::string_view, Typed>::first);
    made.push_back(named == given.keywords.end() ? builder.constant({}) : named->second);
  }
  return made;
}

const Stubs::Stub& Stubs::find(const std::string& callee, Definitions& definitions) {
  if (const auto known = stubs_.find(callee); known != stubs_.end()) return known->second;
  add(callee, calls_of(definitions, [&](const std::string& name) { return name == callee; })[callee]);
  return stubs_.at(callee);
}

void Stubs::add(const std::string& callee, CallShape shape) {
  Stub& made = stubs_[callee];
  made.candidates = result_types(shape.use);
  made.shape = std::move(shape);
}

// Tries each stub's other results in turn, while the other stubs keep their likeliest ones.
bool Stubs::try_other_results() {
  if (++attempts_ > most_attempts) return false;
  for (; varied_ < stubs_.size(); ++varied_) {
    Stub& stub = std::next(stubs_.begin(), static_cast<std::ptrdiff_t>(varied_))->second;
    if (++stub.tried < stub.candidates.size()) return true;
    stub.tried = 0;
  }
  return false;
}

void Stubs::describe(ir::Program& program) const {
  for (const auto& [name, stub] : stubs_) {
    if (name.find("::") == name.npos) continue;  // a method
    const std::string assumed = assumed_schema(name, stub, program);
    program.stub_schemas.push_back(assumed);
    program.notes.push_back({ir::LoadNote::Kind::stub_operator, name,
                             "no library registers " + name + "; its schema was assumed from its calls: " + assumed});
  }
}

}  // namespace compatcheck::frontend::native

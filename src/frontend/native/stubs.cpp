#include "frontend/native/stubs.h"

#include <algorithm>
#include <iterator>

#include "schema/schema.h"

namespace compatcheck::frontend::native {
namespace {

using ir::TypeKind;
using ir::TypeRef;

constexpr std::size_t most_attempts = 40;

// "List[int]" → "int[]"; empty for what no operator returns.
std::string type_in_schema(const std::string& script) {
  static const std::map<std::string, std::string> names = {{"Tensor", "Tensor"},
                                                           {"List[Tensor]", "Tensor[]"},
                                                           {"int", "int"},
                                                           {"float", "float"},
                                                           {"bool", "bool"},
                                                           {"str", "str"},
                                                           {"List[int]", "int[]"},
                                                           {"List[float]", "float[]"},
                                                           {"Optional[Tensor]", "Tensor?"},
                                                           {"Dict[str, Tensor]", "Dict(str, Tensor)"}};
  const auto found = names.find(script);
  if (found != names.end()) return found->second;
  if (!script.starts_with("Tuple[") || !script.ends_with("]")) return {};
  std::string made = "(", part;
  int depth = 0;
  for (const char c : script.substr(6, script.size() - 7) + ",") {
    if (c == ',' && depth == 0) {
      const std::string type = type_in_schema(part);
      if (type.empty()) return {};
      made += (made.size() > 1 ? ", " : "") + type;
      part.clear();
      continue;
    }
    if (c == ' ' && part.empty()) continue;
    depth += (c == '[') - (c == ']');
    part += c;
  }
  return made + ")";
}

std::string tuple_of_tensors(std::size_t count) {
  std::string made = "(";
  for (std::size_t i = 0; i < count; ++i) made += i ? ", Tensor" : "Tensor";
  return made + ")";
}

// Result types to try, the likeliest first.
std::vector<std::string> result_types(const ResultUse& use) {
  std::vector<std::string> types;
  const auto add = [&](const std::string& type) {
    if (!type.empty() && std::ranges::find(types, type) == types.end()) types.push_back(type);
  };
  add(type_in_schema(use.type));
  if (use.targets == 0) add("()");
  if (use.targets > 1 && !use.unpacked) add(tuple_of_tensors(use.targets));
  if (use.unpacked || use.subscripted) add("Tensor[]");
  if (use.targets > 1) add(tuple_of_tensors(use.targets));
  for (const char* type : {"Tensor", "Tensor[]", "int", "float", "bool", "str"}) add(type);
  return types;
}

// One type that covers both; null is "not seen yet".
TypeRef common_type(const TypeRef& a, const TypeRef& b) {
  if (!a || ir::equal(*a, *b)) return b;
  if (ir::is(a, TypeKind::tensor) && ir::is(b, TypeKind::tensor)) return ir::tensor_type();
  if (ir::is(a, TypeKind::none)) return ir::is(b, TypeKind::optional) ? b : ir::optional_of(b);
  if (ir::is(b, TypeKind::none)) return ir::is(a, TypeKind::optional) ? a : ir::optional_of(a);
  if (ir::is(a, TypeKind::optional) && !ir::is(b, TypeKind::optional)) return ir::optional_of(common_type(a->elements[0], b));
  if (ir::is(b, TypeKind::optional)) return common_type(b, a);
  const auto number = [](const TypeRef& type) { return ir::is(type, TypeKind::integer) || ir::is(type, TypeKind::floating); };
  return ir::simple_type(number(a) && number(b) ? TypeKind::number : TypeKind::any);
}

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
  const auto [known, fresh] = stubs_.try_emplace(callee);
  if (fresh) {
    known->second.shape = calls_of(definitions, callee);
    known->second.candidates = result_types(known->second.shape.use);
  }
  return known->second;
}

// Each one's other results in turn, the others at their likeliest.
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

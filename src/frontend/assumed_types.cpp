#include "frontend/assumed_types.h"

#include <algorithm>
#include <map>

namespace compatcheck::frontend {

using ir::TypeKind;
using ir::TypeRef;

namespace {

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

}  // namespace

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

}  // namespace compatcheck::frontend

#include "frontend/pt2/union.h"

#include <optional>
#include <string>

namespace compatcheck::frontend::pt2 {

Tagged tagged(const Json& union_value) {
  std::optional<Tagged> held;
  for (const Json& member : union_value.members()) {
    if (member.is_null()) continue;
    if (held) union_value.fail("has two values, \"" + std::string(held->tag) + "\" and \"" + std::string(member.key()) + "\"");
    held.emplace(member.key(), member);
  }
  if (!held) union_value.fail("has no value");
  return *held;
}

std::string_view value_name(const Json& argument) {
  if (const auto name = argument.find("name")) return name->text();  // a TensorArgument, without a union
  const Tagged held = tagged(argument);
  if (held.tag == "as_tensor" || held.tag == "as_custom_obj")
    return held.value.is(Json::Kind::text) ? held.value.text() : held.value.at("name").text();
  if (!held.tag.starts_with("as_sym_") || !held.value.is(Json::Kind::object)) return {};
  const auto name = held.value.find("as_name");
  return name && !name->is_null() ? name->text() : std::string_view();
}

ir::TypeRef number_type(std::string_view tag) {
  if (tag == "as_sym_int" || tag == "as_sym_ints") return ir::simple_type(ir::TypeKind::integer);
  if (tag == "as_sym_float" || tag == "as_sym_floats") return ir::simple_type(ir::TypeKind::floating);
  if (tag == "as_sym_bool" || tag == "as_sym_bools") return ir::simple_type(ir::TypeKind::boolean);
  return nullptr;
}

}  // namespace compatcheck::frontend::pt2

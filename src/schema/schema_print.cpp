#include <algorithm>

#include "ir/literal.h"
#include "schema/schema.h"

namespace compatcheck::schema {
namespace {

using ir::TypeKind;

std::string spell_alias(const Argument& argument) {
  if (argument.alias_set.empty()) return {};
  return '(' + argument.alias_set + (argument.written ? "!" : "") + (argument.contained_after ? " -> *" : "") + ')';
}

// Brackets for what graphs put in square ones; the alias set and the list's size in their places.
std::string spell_type(const ir::Type& type, const Argument& argument) {
  const bool list = type.kind == TypeKind::list;
  if (type.kind == TypeKind::optional) return spell_type(*type.elements[0], argument) + '?';
  if (list) {
    Argument element = argument;
    element.list_size.reset();
    if (!argument.alias_of_elements) element.alias_set.clear();
    const std::string size = argument.list_size ? std::to_string(*argument.list_size) : "";
    return spell_type(*type.elements[0], element) + '[' + size + ']' + (argument.alias_of_elements ? "" : spell_alias(argument));
  }
  if (type.kind == TypeKind::future || type.kind == TypeKind::await_of || type.kind == TypeKind::rref) {
    const char* word = type.kind == TypeKind::future ? "Future(" : type.kind == TypeKind::rref ? "RRef(" : "Await(";
    return word + spell_type(*type.elements[0], {}) + ')' + spell_alias(argument);
  }
  return to_string(type) + spell_alias(argument);
}

// "int[2] stride=1" rather than [1, 1].
std::string spell_default(const Argument& argument) {
  const ir::Constant& value = *argument.default_value;
  const auto* list = value.get<ir::ListConstant>();
  const bool broadcast =
      list && argument.list_size == list->items.size() && list->items.size() > 1 &&
      std::all_of(list->items.begin(), list->items.end(), [&](const ir::Constant& item) { return equal(item, list->items[0]); });
  return broadcast ? write_literal(list->items[0], list->element) : write_literal(value, argument.type);
}

std::string spell(const Argument& argument) {
  std::string out = spell_type(*argument.type, argument);
  if (!argument.name.empty()) out += ' ' + argument.name;
  if (argument.default_value) out += '=' + spell_default(argument);
  return out;
}

}  // namespace

std::string to_string(const Schema& schema) {
  std::string out = schema.name + (schema.overload.empty() ? "" : '.' + schema.overload) + '(';
  bool keyword_only = false;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    if (i > 0) out += ", ";
    if (schema.arguments[i].keyword_only && !keyword_only) out += "*, ";
    keyword_only = schema.arguments[i].keyword_only;
    out += spell(schema.arguments[i]);
  }
  if (schema.variadic_arguments) out += schema.arguments.empty() ? "..." : ", ...";
  out += ") -> ";
  if (schema.variadic_returns && schema.returns.empty()) return out + "...";
  std::string returns;
  for (const Argument& result : schema.returns) returns += (returns.empty() ? "" : ", ") + spell(result);
  if (schema.variadic_returns) returns += ", ...";
  const bool alone = schema.returns.size() == 1 && !schema.variadic_returns && !returns.starts_with('(');
  return out + (alone ? returns : '(' + returns + ')');
}

}  // namespace compatcheck::schema

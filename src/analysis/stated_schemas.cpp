#include "analysis/stated_schemas.h"

#include <algorithm>
#include <optional>

#include "compatcheck/error.h"
#include "process/spell_count.h"
#include "schema/schema.h"

namespace compatcheck::analysis {
namespace {

using ir::TypeKind;

const ir::TypeRef& without_optionals(const ir::TypeRef& type) {
  return type->kind == TypeKind::optional ? without_optionals(type->elements.front()) : type;
}

bool is_number_kind(TypeKind kind) { return kind == TypeKind::number || kind == TypeKind::integer || kind == TypeKind::floating; }

// A call shows neither whether an argument may be None, nor which numbers are allowed.
bool are_alike(const ir::TypeRef& a, const ir::TypeRef& b) {
  if (ir::is(a, TypeKind::none) || ir::is(b, TypeKind::none)) return true;  // no call passed anything but None
  const ir::Type &one = *without_optionals(a), &other = *without_optionals(b);
  if (is_number_kind(one.kind) && is_number_kind(other.kind)) return true;
  return one.kind == other.kind && std::ranges::equal(one.elements, other.elements, are_alike);
}

// As PyTorch spells it, without the name.
std::string type_of(const schema::Argument& argument) {
  schema::Schema only;
  only.name = "a::a";
  schema::Argument result;
  result.type = argument.type;
  only.returns.push_back(std::move(result));
  const std::string text = schema::to_string(only);
  return text.substr(text.rfind("-> ") + 3);
}

// Empty if the row's schema describes the library's calls.
std::string difference(const schema::Schema& row, const schema::Schema& library) {
  for (std::size_t i = 0; i < std::min(row.arguments.size(), library.arguments.size()); ++i)
    if (!are_alike(row.arguments[i].type, library.arguments[i].type))
      return "argument " + std::to_string(i + 1) + " is `" + row.arguments[i].name + ": " + type_of(row.arguments[i]) +
             "` in the row, `" + library.arguments[i].name + ": " + type_of(library.arguments[i]) + "` in the library";
  if (row.arguments.size() > library.arguments.size())
    return "the library has no argument `" + row.arguments[library.arguments.size()].name + "`";
  for (std::size_t i = row.arguments.size(); i < library.arguments.size(); ++i)
    if (!library.arguments[i].default_value)
      return "the row leaves out the library's argument `" + library.arguments[i].name + "`";
  if (row.returns.size() != library.returns.size())
    return "the row states " + spell_count(row.returns.size(), "result") + ", the library " +
           std::to_string(library.returns.size());
  return {};
}

std::optional<schema::Schema> stated_in(const std::vector<std::string>& of_rows, const schema::Schema& library) {
  for (const std::string& text : of_rows) {
    schema::Schema row = schema::parse(text);
    if (row.name == library.name && row.overload == library.overload) return row;
  }
  return std::nullopt;
}

}  // namespace

std::string reconciled(const std::string& library, const std::vector<std::string>& of_rows) {
  if (of_rows.empty()) return library;
  schema::Schema made = schema::parse(library);
  const auto row = stated_in(of_rows, made);
  if (!row) return library;
  if (const std::string why = difference(*row, made); !why.empty())
    throw UsageError("the row of " + made.name + " and its library state different schemas: " + why + ". The library has " +
                     library + ": state that in the row, or leave `schema:` out");
  for (std::size_t i = 0; i < row->arguments.size(); ++i) made.arguments[i].name = row->arguments[i].name;
  return schema::to_string(made);
}

}  // namespace compatcheck::analysis

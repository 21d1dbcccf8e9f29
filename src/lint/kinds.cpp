#include "lint/kinds.h"

#include <algorithm>
#include <functional>

#include "lint/checks.h"

namespace compatcheck::lint {
namespace {

using ir::Type;
using ir::TypeKind;
using mapping::ArgumentKind;
using mapping::Binding;
using mapping::Literal;
using onnx::AttributeType;
using schema::Schema;

bool is_list(AttributeType type) {
  return type == AttributeType::integers || type == AttributeType::floats || type == AttributeType::strings;
}

bool fits(const Literal& literal, AttributeType type) {
  switch (type) {
    case AttributeType::integer:
    case AttributeType::integers: return std::holds_alternative<std::int64_t>(literal) || std::holds_alternative<bool>(literal);
    case AttributeType::floating:
    case AttributeType::floats: return std::holds_alternative<std::int64_t>(literal) || std::holds_alternative<double>(literal);
    case AttributeType::string:
    case AttributeType::strings: return std::holds_alternative<std::string>(literal);
    default: return false;
  }
}

bool fits_constant(const Binding& binding, AttributeType type) {
  return binding.constant_is_list == is_list(type) &&
         std::ranges::all_of(binding.constant, [&](const Literal& l) { return fits(l, type); });
}

// Whether an argument of the torch type can fill the attribute; a single int also fills INTS.
bool fits(const Type& argument, AttributeType attribute) {
  if (argument.kind == TypeKind::optional) return fits(*argument.elements.front(), attribute);
  if (argument.kind == TypeKind::list) return is_list(attribute) && fits(*argument.elements.front(), attribute);
  switch (argument.kind) {
    case TypeKind::integer: return attribute != AttributeType::string && attribute != AttributeType::strings;
    case TypeKind::boolean: return attribute == AttributeType::integer || attribute == AttributeType::integers;
    case TypeKind::floating: return attribute == AttributeType::floating || attribute == AttributeType::floats;
    case TypeKind::string: return attribute == AttributeType::string || attribute == AttributeType::strings;
    case TypeKind::tensor: return false;
    default: return true;  // Scalar, `dtype=` …
  }
}

std::string_view word(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::automatic: return "";
    case ArgumentKind::value: return "value";
    case ArgumentKind::integer: return "int";
    case ArgumentKind::floating: return "float";
    case ArgumentKind::integers: return "ints";
    case ArgumentKind::floats: return "floats";
    case ArgumentKind::string: return "string";
    case ArgumentKind::boolean: return "bool";
    case ArgumentKind::dtype: return "dtype";
    case ArgumentKind::none: return "none";
  }
  return "";
}

AttributeType given_by(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::integer:
    case ArgumentKind::boolean:
    case ArgumentKind::dtype: return AttributeType::integer;
    case ArgumentKind::floating: return AttributeType::floating;
    case ArgumentKind::integers: return AttributeType::integers;
    case ArgumentKind::floats: return AttributeType::floats;
    case ArgumentKind::string: return AttributeType::string;
    case ArgumentKind::value: return AttributeType::tensor;
    default: return AttributeType::undefined;
  }
}

// Whether a call's argument of the torch type can be read as that kind.
bool readable(const Type& type, ArgumentKind kind) {
  if (type.kind == TypeKind::optional) return readable(*type.elements.front(), kind);
  const auto item = type.kind == TypeKind::list ? type.elements.front()->kind : type.kind;
  const bool list = type.kind == TypeKind::list;
  switch (item) {
    case TypeKind::tensor: return kind == ArgumentKind::value || kind == ArgumentKind::none;
    case TypeKind::string: return (kind == ArgumentKind::string && !list) || kind == ArgumentKind::none;
    case TypeKind::boolean:
      return ((kind == ArgumentKind::boolean || kind == ArgumentKind::integer || kind == ArgumentKind::value) && !list) ||
             kind == ArgumentKind::none;
    case TypeKind::integer:
      return kind == ArgumentKind::none || kind == ArgumentKind::integers || kind == ArgumentKind::floats ||
             kind == ArgumentKind::value ||
             (!list && (kind == ArgumentKind::integer || kind == ArgumentKind::floating || kind == ArgumentKind::dtype));
    case TypeKind::floating:
      return kind == ArgumentKind::none || kind == ArgumentKind::value ||
             (list ? kind == ArgumentKind::floats : kind == ArgumentKind::floating);
    default: return true;
  }
}

// The argument's type where it fits in no overload; null where it fits, or nobody knows it.
const Type* unfit(const Binding& binding, const std::vector<const Schema*>& overloads,
                  const std::function<bool(const Type&)>& fits_type) {
  const Type* some = nullptr;
  for (const Schema* overload : overloads)
    if (const auto index = overload->argument_index(binding.argument)) {
      some = overload->arguments[*index].type.get();
      if (fits_type(*some)) return nullptr;
    }
  return some;
}

std::string unreadable(const Binding& binding, const std::vector<const Schema*>& overloads) {
  const Type* const type = unfit(binding, overloads, [&](const Type& one) { return readable(one, binding.kind); });
  return type ? "argument " + quote(binding.argument) + " is " + ir::to_string(*type) + ", which can't be given as " +
                    quote(word(binding.kind))
              : std::string();
}

}  // namespace

std::string attribute_misfit(const Binding& binding, const std::string& what, AttributeType type,
                             const std::vector<const Schema*>& overloads) {
  const bool typed = type != AttributeType::undefined;
  const std::string is = what + " is " + std::string(onnx::name(type));
  if (binding.argument.empty())
    return typed && !binding.constant.empty() && !fits_constant(binding, type) ? is + "; the constant isn't" : std::string();
  if (binding.kind == ArgumentKind::none) return {};
  if (binding.kind != ArgumentKind::automatic) {
    if (typed && given_by(binding.kind) != type)
      return is + "; the row gives argument " + quote(binding.argument) + " as " + quote(word(binding.kind)) + ", which is " +
             std::string(onnx::name(given_by(binding.kind)));
    return unreadable(binding, overloads);
  }
  if (!typed) return {};
  const Type* const some = unfit(binding, overloads, [&](const Type& one) { return fits(one, type); });
  return some ? is + "; argument " + quote(binding.argument) + " is " + ir::to_string(*some) : std::string();
}

std::string input_misfit(const Binding& binding, const std::vector<const Schema*>& overloads) {
  if (binding.argument.empty() || binding.kind == ArgumentKind::automatic || binding.kind == ArgumentKind::none) return {};
  if (binding.kind == ArgumentKind::string || binding.kind == ArgumentKind::dtype)
    return "an input is a tensor; the row gives argument " + quote(binding.argument) + " as " + quote(word(binding.kind));
  return unreadable(binding, overloads);
}

}  // namespace compatcheck::lint

// The arguments that rows name, held against the operator's schemas: they exist, and conditions on them can hold.
#include <algorithm>

#include "handlers/row_arguments.h"
#include "lint/checks.h"
#include "mapping/reading/suggest.h"

namespace compatcheck::lint {

using ir::Type;
using ir::TypeKind;
using mapping::Literal;
using mapping::OperatorRows;
using mapping::Predicate;
using schema::Schema;

namespace {

const Type& required_type(const Type& type) {
  return type.kind == TypeKind::optional && !type.elements.empty() ? *type.elements.front() : type;
}

// Kinds of which literals say little: `dtype=`, `device=` …
bool is_opaque(TypeKind kind) {
  switch (kind) {
    case TypeKind::tensor:
    case TypeKind::integer:
    case TypeKind::floating:
    case TypeKind::boolean:
    case TypeKind::number:
    case TypeKind::complex:
    case TypeKind::string:
    case TypeKind::list: return false;
    default: return true;
  }
}

std::string spelled(const Literal& literal) {
  struct Spell {
    std::string operator()(std::monostate) const { return "~"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return std::to_string(value); }
    std::string operator()(const std::string& value) const { return value; }
  };
  return std::visit(Spell(), literal);
}

bool can_equal(const Literal& literal, const Type& type) {
  if (std::holds_alternative<std::monostate>(literal)) return type.kind == TypeKind::optional;
  const TypeKind kind = required_type(type).kind;
  if (is_opaque(kind)) return true;
  const bool number = kind == TypeKind::number || kind == TypeKind::complex;
  if (std::holds_alternative<bool>(literal)) return kind == TypeKind::boolean || number;
  if (std::holds_alternative<std::int64_t>(literal)) return kind == TypeKind::integer || kind == TypeKind::floating || number;
  if (std::holds_alternative<double>(literal)) return kind == TypeKind::floating || number;
  return kind == TypeKind::string;
}

// Why the predicate says nothing about a value of the type; empty if it does say something.
std::string misfit(const Predicate& predicate, const Type& type) {
  const Type& plain = required_type(type);
  const bool tensor = plain.kind == TypeKind::tensor || is_opaque(plain.kind);
  const bool list = plain.kind == TypeKind::list || is_opaque(plain.kind);
  const bool number = plain.kind == TypeKind::integer || plain.kind == TypeKind::floating || plain.kind == TypeKind::number ||
                      plain.kind == TypeKind::boolean || is_opaque(plain.kind);
  const std::string is = "it is " + ir::to_string(type);
  if (predicate.any_of)
    for (const Literal& literal : *predicate.any_of)
      if (!can_equal(literal, type)) {
        const bool of_list = plain.kind == TypeKind::list && can_equal(literal, *plain.elements.front());
        return "never equals " + quote(spelled(literal)) + ": " + is +
               (of_list ? "; {each: …} speaks of its members, {equals: […]} of the list" : "");
      }
  if ((predicate.each || predicate.equals) && !list) return "is no list: " + is;
  if (predicate.each && plain.kind == TypeKind::list) {
    if (std::string inner = misfit(*predicate.each, *plain.elements.front()); !inner.empty()) return inner;
  }
  if (predicate.equals && plain.kind == TypeKind::list)
    for (const Literal& literal : *predicate.equals)
      if (!can_equal(literal, *plain.elements.front())) return "never holds " + quote(spelled(literal)) + ": " + is;
  if (predicate.length && !list && plain.kind != TypeKind::string) return "has no length: " + is;
  if ((predicate.min || predicate.max) && !number) return "is no number: " + is;
  if (predicate.none && type.kind != TypeKind::optional && !is_opaque(type.kind)) return "is never None: " + is;
  if ((predicate.rank || predicate.rank_known || !predicate.sizes.empty() || predicate.elements) && !tensor)
    return "is no tensor: " + is;
  if (!predicate.dtype.empty() && !tensor && !number) return "is no tensor: " + is;
  if (predicate.used) return "is an argument; `used` is about outputs.N";
  return predicate.negated ? misfit(*predicate.negated, type) : std::string();
}

std::vector<std::string_view> argument_names(const std::vector<const Schema*>& overloads) {
  std::vector<std::string_view> names;
  for (const Schema* overload : overloads)
    for (const auto& argument : overload->arguments)
      if (std::ranges::find(names, argument.name) == names.end()) names.push_back(argument.name);
  return names;
}

struct Arguments {
  const Context& context;
  const OperatorRows& rows;
  std::vector<const Schema*> overloads;

  bool exists(std::string_view name) const {
    return std::ranges::any_of(overloads, [&](const Schema* overload) { return overload->argument_index(name).has_value(); });
  }
  void check_exists(const mapping::Place& place, std::string_view name) const {
    if (!exists(name))
      context.report(
          place, quote(rows.name) + " has no argument " + quote(name) + mapping::did_you_mean(name, argument_names(overloads)));
  }

  // A condition must be able to hold or fail in one overload at least. Where one lacks the argument it may be None.
  void check_argument(const mapping::Condition& condition) const {
    const bool lacking =
        std::ranges::any_of(overloads, [&](const Schema* overload) { return !overload->argument_index(condition.argument); });
    std::string why;
    for (const Schema* overload : overloads) {
      const auto index = overload->argument_index(condition.argument);
      if (!index) continue;
      const ir::TypeRef& type = overload->arguments[*index].type;
      why = misfit(condition.predicate, lacking && type->kind != TypeKind::optional ? *ir::optional_of(type) : *type);
      if (why.empty()) return;
    }
    context.report(condition.place, quote(condition.argument) + " " + why);
  }
  void check_output(const mapping::Condition& condition) const {
    const auto index = static_cast<std::size_t>(std::stoul(condition.argument.substr(8)));
    const Predicate& test = condition.predicate;
    const bool use = test.used || (test.negated && test.negated->used);
    std::string why = quote(rows.name) + " has no output " + std::to_string(index);
    for (const Schema* overload : overloads) {
      if (overload->variadic_returns) return;
      if (index >= overload->returns.size()) continue;
      why = use ? std::string() : misfit(test, *overload->returns[index].type);
      if (why.empty()) return;
      why = quote(condition.argument) + " " + why;
    }
    context.report(condition.place, why);
  }
  // Every tensor argument; some operators have an argument of that very name too.
  void check_tensors(const mapping::Condition& condition) const {
    static const ir::TypeRef tensor = ir::optional_of(ir::tensor_type());
    const std::string why = misfit(condition.predicate, *tensor);
    if (why.empty()) return;
    if (exists(condition.argument)) return check_argument(condition);
    context.report(condition.place, "`tensors`: each " + why);
  }
  // Returns a required argument that the row never names; only tensors where `tensors`.
  const schema::Argument* unmapped_argument(const mapping::Row& row, const Schema& overload, bool tensors) const {
    for (const schema::Argument& argument : overload.arguments) {
      if (argument.default_value || argument.written || argument.type->kind == TypeKind::optional ||
          handlers::names_argument(row, argument.name))
        continue;
      if (handlers::is_operand(argument) || (!tensors && !is_opaque(argument.type->kind))) return &argument;
    }
    return nullptr;
  }
  bool has_what_is_bound(const mapping::Row& row, const Schema& overload) const {
    const auto has = [&](const mapping::Binding& binding) {
      return binding.argument.empty() || overload.argument_index(binding.argument);
    };
    return std::ranges::all_of(*row.inputs, has) &&
           std::ranges::all_of(row.attributes, [&](const auto& bound) { return has(bound.second); });
  }
  // A tensor that every call gives and the row's node wouldn't get: no call of an overload that the row can mean could be right.
  void check_all_mapped(const mapping::Row& row) const {
    if (row.kind != mapping::Row::Kind::mapped || !row.inputs || !(row.one_to_one() || row.body)) return;
    std::vector<const Schema*> meant;
    for (const Schema* overload : overloads)
      if (has_what_is_bound(row, *overload)) meant.push_back(overload);
    if (std::ranges::any_of(meant, [&](const Schema* overload) { return !unmapped_argument(row, *overload, false); })) return;
    for (const Schema* overload : meant)
      if (const auto* dropped = unmapped_argument(row, *overload, true))
        return context.report(row.place,
                              "`inputs` leaves out the argument " + quote(dropped->name) + " of " + schema::to_string(*overload) +
                                  ": name it there, or say that it is dropped by {none: " + dropped->name + "} at the end");
  }
  void check(const std::vector<mapping::Conditions>& when) const {
    for (const auto& conditions : when)
      for (const mapping::Condition& condition : conditions) check(condition);
  }
  void check(const mapping::Condition& condition) const {
    if (condition.argument.starts_with("outputs."))
      check_output(condition);
    else if (condition.argument == "tensors")
      check_tensors(condition);
    else if (exists(condition.argument))
      check_argument(condition);
    else
      check_exists(condition.place, condition.argument);
  }
};

void check_required(const Context& context, const mapping::Place& place, const std::vector<std::string>& required) {
  const auto& conditions = context.known.conditions;
  if (!conditions) return;
  for (const std::string& name : required)
    if (std::ranges::find(*conditions, name) == conditions->end())
      context.report(
          place, "`requires` a condition " + quote(name) + " that isn't registered" + mapping::did_you_mean(name, *conditions));
}

}  // namespace

void check_arguments(const Context& context, const OperatorRows& rows) {
  const Arguments arguments{context, rows, overloads_of(context, rows.name)};
  check_required(context, rows.place, rows.valid.required);
  if (!arguments.overloads.empty()) {
    arguments.check(rows.valid.when);
    for (const std::string& argument : rows.complex.arguments) arguments.check_exists(rows.place, argument);
  }
  for (const mapping::Entry& entry : rows.history)
    for (const mapping::Row& row : entry.rows) {
      check_required(context, row.place, row.required);
      if (arguments.overloads.empty()) continue;
      for (const mapping::Binding& binding : row.inputs.value_or(std::vector<mapping::Binding>())) {
        if (binding.argument.empty()) continue;
        arguments.check_exists(row.place, binding.argument);
        if (std::ranges::count(*row.inputs, binding.argument, &mapping::Binding::argument) > 1)
          context.report(row.place, quote(binding.argument) + " is in `inputs` twice");
      }
      for (const auto& [attribute, binding] : row.attributes)
        if (!binding.argument.empty()) arguments.check_exists(row.place, binding.argument);
      arguments.check(row.when);
      if (context.table.is_users(row.place)) arguments.check_all_mapped(row);
    }
}

}  // namespace compatcheck::lint

// Names: operators, overloads, aliases, fact words, and the lists beside the operators.
#include <algorithm>
#include <array>

#include "lint/checks.h"
#include "mapping/reading/suggest.h"
#include "onnx/schema.h"
#include "process/spell_count.h"
#include "symbolic/fact_words.h"
#include "symbolic/stated_facts.h"

namespace compatcheck::lint {

using mapping::did_you_mean;
using mapping::OperatorRows;
using schema::Schema;

namespace {

// Nodes of the IR that are no operators in libtorch's registry.
constexpr std::array<std::string_view, 4> without_schema = {"prim::ConstantChunk", "prim::ConstantSplit", "prim::shape",
                                                            "prim::convert_element_type"};

std::string_view namespace_of(std::string_view name) { return name.substr(0, name.find("::")); }

// A namespace of which no schema is known belongs to somebody's own library.
bool is_known_namespace(const schema::Registry& schemas, std::string_view searched) {
  return std::ranges::any_of(schemas.names(), [&](std::string_view name) { return namespace_of(name) == searched; });
}

std::vector<std::string_view> overload_names(std::span<const Schema* const> overloads) {
  std::vector<std::string_view> names;
  for (const Schema* overload : overloads) names.push_back(overload->overload);
  return names;
}

void check_operator(const Context& context, const OperatorRows& rows) {
  const auto [base, overload] = mapping::split_overload(rows.name);
  const schema::Registry& schemas = context.known.schemas;
  const auto overloads = schemas.overloads(base);
  if (overloads.empty()) {
    if (std::ranges::find(without_schema, base) != without_schema.end() || !is_known_namespace(schemas, namespace_of(base)))
      return;
    context.report(rows.place, "no operator " + quote(base) + " is known" + did_you_mean(base, schemas.names()));
  } else if (!overload.empty() && !schemas.find(base, overload) &&
             base != "prim::PythonOp") {  // its overloads are Python functions
    context.report(rows.place,
                   quote(base) + " has no overload " + quote(overload) + did_you_mean(overload, overload_names(overloads)));
  }
}

// The operator whose rows this one would get by rule; null if there is none.
const OperatorRows* by_rule(const Context& context, const OperatorRows& rows) {
  const auto [base, overload] = mapping::split_overload(rows.name);
  const schema::Registry& schemas = context.known.schemas;
  if (const auto without_out = mapping::functional_overload(base, overload, schemas)) {
    const OperatorRows* const other = context.states(std::string(base) + "." + *without_out);
    return other ? other : context.states(base);
  }
  const auto functional = schemas.functional_form(base);
  if (!functional) return nullptr;
  if (const OperatorRows* other = context.states(*functional + "." + std::string(overload))) return other;
  return context.states(*functional);
}

void check_rule(const Context& context, const OperatorRows& rows) {
  const OperatorRows* const other = by_rule(context, rows);
  if (!other || context.table.is_users(rows.place) != context.table.is_users(other->place)) return;
  const bool same =
      rows.alias == other->name || (rows.alias.empty() && other->alias.empty() &&
                                    std::ranges::equal(rows.history, other->history, [](const auto& a, const auto& b) {
                                      return a.opset == b.opset && mapping::equal(a.rows, b.rows);
                                    }));
  if (same) context.report(rows.place, quote(rows.name) + " has the rows of " + quote(other->name) + " by rule; leave it out");
}

// Whether a call of `alias` has the arguments that the rows of `target` must read.
bool has_required_arguments(const Schema& alias, const Schema& target) {
  return std::ranges::all_of(target.arguments, [&](const schema::Argument& argument) {
    return argument.default_value || alias.argument_index(argument.name);
  });
}

// Every argument that the rows name.
std::vector<std::string_view> named_arguments(const OperatorRows& rows) {
  std::vector<std::string_view> names;
  for (const mapping::Entry& entry : rows.history)
    for (const mapping::Row& row : entry.rows) {
      if (row.inputs)
        for (const mapping::Binding& binding : *row.inputs)
          if (!binding.argument.empty()) names.push_back(binding.argument);
      for (const auto& [attribute, binding] : row.attributes)
        if (!binding.argument.empty()) names.push_back(binding.argument);
      for (const auto& conditions : row.when)
        for (const mapping::Condition& condition : conditions)
          if (condition.argument != "tensors" && !condition.argument.starts_with("outputs.")) names.push_back(condition.argument);
    }
  return names;
}

bool maps_anything(const OperatorRows& rows) {
  return std::ranges::any_of(rows.history,
                             [](const mapping::Entry& entry) { return entry.rows.front().kind != mapping::Row::Kind::missing; });
}

// Rows of another operator read their arguments by name: the alias must have them.
void check_alias_arguments(const Context& context, const OperatorRows& rows, const OperatorRows& target) {
  const auto of_target = context.known.schemas.overloads(mapping::split_overload(rows.alias).first);
  const auto own = overloads_of(context, rows.name);
  if (of_target.empty() || own.empty() || !maps_anything(target)) return;
  for (const Schema* overload : own)
    if (std::ranges::none_of(of_target, [&](const Schema* other) { return has_required_arguments(*overload, *other); }))
      return context.report(rows.place, "alias of " + quote(rows.alias) +
                                            ", every overload of which needs arguments that are missing in " +
                                            schema::to_string(*overload));
  for (const std::string_view name : named_arguments(target))
    if (std::ranges::none_of(own, [&](const Schema* overload) { return overload->argument_index(name).has_value(); }))
      return context.report(rows.place, "alias of " + quote(rows.alias) + ", whose rows name the argument " + quote(name) + "; " +
                                            quote(rows.name) + " has none");
}

void check_alias(const Context& context, const OperatorRows& rows) {
  const OperatorRows* const target = context.states(rows.alias);
  if (!target) {
    std::vector<std::string_view> names;
    for (const OperatorRows* other : context.table.operators()) names.push_back(other->name);
    return context.report(rows.place,
                          "alias of " + quote(rows.alias) + ", which the tables don't hold" + did_you_mean(rows.alias, names));
  }
  if (!target->alias.empty())
    return context.report(rows.place, "alias of " + quote(rows.alias) + ", itself an alias; name " + quote(target->alias));
  check_alias_arguments(context, rows, *target);
}

// The text of `schema:` as it stands in the file, if it stands on one line: then a fault in it has a column there.
std::optional<int> column_in(const mapping::Table& table, const OperatorRows& rows, std::size_t position) {
  const std::string_view line = table.source_line(rows.schema_place);
  const auto from = static_cast<std::size_t>(rows.schema_place.column - 1);
  for (const std::size_t quote : {0u, 1u})
    if (from + quote <= line.size() && line.substr(from + quote).starts_with(rows.schema))
      return static_cast<int>(from + quote + position + 1);
  return std::nullopt;
}

void check_schema(const Context& context, const OperatorRows& rows) {
  try {
    const Schema stated = schema::parse(rows.schema);
    const auto [base, overload] = mapping::split_overload(rows.name);
    if (stated.name == base && (overload.empty() || stated.overload == overload)) return;
    context.report(rows.schema_place, "a schema of " +
                                          quote(stated.name + (stated.overload.empty() ? "" : "." + stated.overload)) +
                                          " under the operator " + quote(rows.name));
  } catch (const schema::ParseError& error) {
    mapping::Place place = rows.schema_place;
    const auto column = column_in(context.table, rows, error.position);
    if (column) place.column = *column;
    context.report(place, "no schema: " + error.reason + (column ? "" : ", at character " + std::to_string(error.position + 1)));
  }
}

// One overload at least must have the arguments.
void check_spelled_facts(const Context& context, const OperatorRows& rows, const std::vector<std::string_view>& stated) {
  const auto overloads = overloads_of(context, rows.name);
  const std::vector<std::string_view> words =
      context.known.fact_words ? std::vector(context.known.fact_words->begin(), context.known.fact_words->end())
                               : std::vector<std::string_view>();
  for (const std::string_view facts : stated) {
    if (!symbolic::spells_facts(facts) || overloads.empty()) continue;
    std::string defect;
    const auto fits = [&](const Schema* overload) {
      std::string found = symbolic::defect_of_facts(facts, *overload, words);
      if (defect.empty()) defect = found;
      return found.empty();
    };
    if (std::ranges::none_of(overloads, fits))
      context.report(rows.place,
                     "`facts: " + std::string(facts) + "`: " + defect + " (" + schema::to_string(*overloads.front()) + ")");
  }
}

void check_facts(const Context& context, const OperatorRows& rows) {
  const auto stated = symbolic::words_of_results(rows.facts);
  const auto& known = context.known.fact_words;
  if (std::ranges::find(stated, "TODO") != stated.end())
    return context.report(rows.place, "`facts: TODO` is left to fill in: say how the dtype and shape of the results of " +
                                          quote(rows.name) +
                                          " follow from its arguments (`same`, `pointwise` ...: docs/mappings.md)");
  check_spelled_facts(context, rows, stated);
  for (const std::string_view word : stated)
    if (known && !symbolic::spells_facts(word) && !(word == "~" && stated.size() > 1) &&
        std::ranges::find(*known, word) == known->end())
      context.report(rows.place, "`facts: " + std::string(word) + "` isn't a word for facts" + did_you_mean(word, *known));
  if (stated.size() == 1) return;
  const auto overloads = overloads_of(context, rows.name);
  const auto has_as_many = [&](const Schema* overload) {
    return overload->variadic_returns || overload->returns.size() == stated.size();
  };
  if (!overloads.empty() && std::ranges::none_of(overloads, has_as_many))
    context.report(rows.place, "`facts` has " + spell_count(stated.size(), "word") + ", and the results are " +
                                   std::to_string(overloads.front()->returns.size()) + ": " +
                                   schema::to_string(*overloads.front()));
}

}  // namespace

std::vector<const Schema*> overloads_of(const Context& context, std::string_view name) {
  const auto [base, overload] = mapping::split_overload(name);
  if (!overload.empty()) {
    const Schema* const schema = context.known.schemas.find(base, overload);
    return schema ? std::vector{schema} : std::vector<const Schema*>();
  }
  const OperatorRows* const own = context.states(base);
  std::vector<const Schema*> found;
  for (const Schema* schema : context.known.schemas.overloads(base)) {
    if (schema->is_out()) continue;
    const OperatorRows* const other = context.states(std::string(base) + "." + schema->overload);
    if (!other || (own && mapping::carried_over(*own, *other))) found.push_back(schema);
  }
  return found;
}

bool is_known_operator(const schema::Registry& schemas, std::string_view name) {
  const auto [base, overload] = mapping::split_overload(name);
  if (base == "prim::PythonOp" || std::ranges::find(without_schema, base) != without_schema.end()) return true;
  return overload.empty() ? schemas.contains(base) : schemas.find(base, overload) != nullptr;
}

void check_name(const Context& context, const OperatorRows& rows) {
  if (context.table.find_structural(rows.name))
    return context.report(rows.place, quote(rows.name) + " is on the list of structural operators too");
  if (rows.schema.empty())
    check_operator(context, rows);
  else
    check_schema(context, rows);
  check_rule(context, rows);
  if (!rows.alias.empty()) check_alias(context, rows);
  if (!rows.facts.empty()) check_facts(context, rows);
}

}  // namespace compatcheck::lint

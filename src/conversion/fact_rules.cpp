#include "conversion/fact_rules.h"

#include <algorithm>
#include <string_view>

#include "conversion/calls.h"

namespace compatcheck::conversion {

namespace {

const mapping::Table& shipped_table() {
  static const mapping::Table shipped = mapping::Table::shipped();
  return shipped;
}

}  // namespace

const mapping::OperatorRows* users_facts(std::string_view op, std::string_view overload, const mapping::Table& table) {
  const std::string full = std::string(op) + "." + std::string(overload);
  const mapping::OperatorRows* found = nullptr;
  for (const auto* rows : table.users()) {
    const auto* below = shipped_table().stated(rows->name);
    if (rows->facts.empty() || (below && below->facts == rows->facts)) continue;  // the user's row repeats the shipped word
    if (!overload.empty() && rows->name == full) return rows;
    if (rows->name == op) found = rows;
  }
  return found;
}

namespace {

bool is_on_tensors(const schema::Schema& schema) {
  const auto tensor = [](const schema::Argument& argument) { return ir::holds(*argument.type, ir::TypeKind::tensor); };
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), tensor) ||
         std::any_of(schema.returns.begin(), schema.returns.end(), tensor);
}

// Returns the fact rule of the tables or a family for an operator on tensors of this name; a user's file comes first.
symbolic::FactFunction tensor_rule(std::string_view op, std::string_view overload, const mapping::Table& table,
                                   const schema::Registry& schemas, const symbolic::Registry& registry) {
  if (const auto* rows = users_facts(op, overload, table)) return registry.find_fact_word(rows->facts);
  if (auto function = registry.find_facts(op, overload)) return function;
  if (const auto word = table.facts(op, overload, schemas); !word.empty()) return registry.find_fact_word(word);
  const auto* rows = table.find(op, overload, mapping::highest_opset, schemas).op;  // resolves an alias
  if (!rows) return nullptr;
  const auto [base, alias_overload] = mapping::split_overload(rows->name);
  return registry.find_facts(base, alias_overload);
}

// How an operator's facts follow from its arguments; null if there is no rule.
symbolic::FactFunction fact_rule(const schema::Schema& schema, const mapping::Table& table, const schema::Registry& schemas,
                                 const symbolic::Registry& registry) {
  const bool by_user = is_on_tensors(schema) && users_facts(schema.name, schema.overload, table);
  if (auto function = registry.find_overload_facts(schema.name, schema.overload); function && !by_user) return function;
  if (is_on_numbers(schema)) return registry.find_number_facts(schema.name);
  if (!is_on_tensors(schema)) return schema.overload.empty() ? registry.find_facts(schema.name, {}) : nullptr;
  const std::string overload = mapping::functional_overload(schema.name, schema.overload, schemas).value_or(schema.overload);
  if (auto rule = tensor_rule(schema.name, overload, table, schemas, registry)) return rule;
  const auto functional = schemas.functional_form(schema.name);
  return functional ? tensor_rule(*functional, overload, table, schemas, registry) : nullptr;
}

}  // namespace

symbolic::FactFunction shipped_rule(const ir::Node& node, const schema::Registry& schemas, const symbolic::Registry& registry) {
  return node.schema() ? fact_rule(*node.schema(), shipped_table(), schemas, registry) : nullptr;
}

const symbolic::FactFunction& FactRules::of(const ir::Node& node) {
  if (!node.schema()) {
    const auto [known, added] = rules_without_schema_.try_emplace(node.op());
    if (added && node.op().starts_with("prim::")) known->second = registry_.find_facts(node.op(), {});
    return known->second;
  }
  const auto [known, added] = rules_.try_emplace(node.schema());
  if (added) known->second = fact_rule(*node.schema(), table_, schemas_, registry_);
  return known->second;
}

}  // namespace compatcheck::conversion

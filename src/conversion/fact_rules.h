// Which rule states a call's facts: a word in the tables, or a function of the operator's family.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/graph.h"
#include "mapping/table.h"
#include "schema/schema.h"
#include "symbolic/registry.h"

namespace compatcheck::conversion {

// The rows of a user's file whose word states a call's facts; null if none does, or if the word is the shipped one.
const mapping::OperatorRows* users_facts(std::string_view op, std::string_view overload, const mapping::Table& table);
// How the facts of an operator that PyTorch has follow from its arguments, whatever users state; null if there is no rule.
symbolic::FactFunction shipped_rule(const ir::Node& node, const schema::Registry& schemas, const symbolic::Registry& registry);

// Looks up each schema once. The constructor's arguments must outlive the object.
class FactRules {
 public:
  FactRules(const mapping::Table& table, const schema::Registry& schemas, const symbolic::Registry& registry)
      : table_(table), schemas_(schemas), registry_(registry) {}

  // Null if none. A call that fits no overload has no arguments by name: only rules of prim operators are for it.
  const symbolic::FactFunction& of(const ir::Node& node);
  bool is_users(const ir::Node& node) const { return users_facts(node.op(), node.overload(), table_) != nullptr; }

 private:
  const mapping::Table& table_;
  const schema::Registry& schemas_;
  const symbolic::Registry& registry_;
  std::unordered_map<const schema::Schema*, symbolic::FactFunction> rules_;
  std::unordered_map<std::string, symbolic::FactFunction> rules_without_schema_;
};

}  // namespace compatcheck::conversion

#include "symbolic/registry.h"

#include <gtest/gtest.h>

#include "conversion/facts.h"

namespace compatcheck::symbolic {
namespace {

// How an operator's facts follow stands in one place: a word in the tables, or a function.
TEST(Registry, NoFactsAreStatedTwice) {
  const Registry registry = shipped_registry();
  for (const mapping::OperatorRows* rows : mapping::Table::shipped().operators()) {
    if (rows->facts.empty()) continue;
    const auto [op, overload] = mapping::split_overload(rows->name);
    const auto stated = overload.empty() ? registry.find_facts(op, {}) : registry.find_overload_facts(op, overload);
    EXPECT_FALSE(stated) << rows->name << ": " << rows->facts << " in the tables, and a function";
    EXPECT_TRUE(registry.find_fact_word(rows->facts)) << rows->name << ": " << rows->facts;
  }
}

// Names in the families that no schema has, the tables' own included, are typing errors.
TEST(Registry, FactsAreOfOperatorsThatExist) {
  schema::Registry schemas;
  for (const auto& schema : mapping::Table::shipped().schemas()) schemas.add(schema);
  const Registry registry = shipped_registry();
  for (const std::string_view name : registry.fact_names()) {
    if (name.starts_with("prim::")) continue;  // some have no schema
    const auto [op, overload] = mapping::split_overload(name);
    EXPECT_TRUE(overload.empty() ? schemas.contains(op) : schemas.find(op, overload) != nullptr) << name;
  }
}

}  // namespace
}  // namespace compatcheck::symbolic

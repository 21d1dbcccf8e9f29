// The shipped tables have no defect.
#include <gtest/gtest.h>

#include "handlers/registry.h"
#include "lint/lint.h"
#include "symbolic/registry.h"

namespace compatcheck {
namespace {

TEST(LintShipped, NoDefects) {
  const mapping::Table table = mapping::Table::shipped();
  schema::Registry schemas;
  for (const std::string& schema : table.schemas()) schemas.add(schema);
  const symbolic::Registry registry = symbolic::shipped_registry();
  const auto conditions = registry.condition_names();
  const auto fact_words = registry.fact_words();
  const handlers::Registry written = handlers::shipped_handlers();
  const auto names = written.names();
  ASSERT_GT(names.size(), 100u);
  for (const mapping::Defect& defect : lint::check(table, {schemas, conditions, fact_words, names, &written}))
    ADD_FAILURE() << lint::describe(table, defect);
}

}  // namespace
}  // namespace compatcheck

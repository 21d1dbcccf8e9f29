// compatcheck::lint_tables: the library's face of src/lint.
#include <algorithm>
#include <set>

#include "analysis/boundary.h"
#include "lint/lint.h"
#include "mapping/files.h"
#include "reference/effective_table.h"
#include "symbolic/registry.h"

namespace compatcheck {
namespace {

std::vector<TableDefect> defects_of(const std::vector<std::filesystem::path>& files) {
  reference::Effective in_force;
  std::set<std::string> own;
  for (const auto& file : mapping::table_files(files)) {
    in_force.table.overlay(file);
    own.insert(file.string());
  }
  for (const auto& schema : in_force.table.schemas()) in_force.schemas.add(schema);
  const auto registry = symbolic::shipped_registry();
  const auto conditions = registry.condition_names();
  const auto words = registry.fact_words();
  std::vector<TableDefect> defects;
  for (const auto& defect : lint::check(in_force.table, {.schemas = in_force.schemas, .conditions = conditions, .fact_words = words, .handlers = {}})) {
    if (!own.empty() && !own.contains(defect.place.file)) continue;
    defects.push_back({defect.place.file, defect.place.line, defect.place.column, defect.message,
                       std::string(in_force.table.source_line(defect.place))});
  }
  return defects;
}

}  // namespace

std::vector<TableDefect> lint_tables(const std::vector<std::filesystem::path>& files) {
  return analysis::guarded("the tables", [&] { return defects_of(files); });
}

}  // namespace compatcheck

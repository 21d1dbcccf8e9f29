// compatcheck::lint_tables: the library's face of src/lint.
#include "analysis/boundary.h"
#include "compatcheck/reference.h"
#include "lint/in_force.h"

namespace compatcheck {
namespace {

std::vector<TableDefect> defects_of(const std::vector<std::filesystem::path>& files, const std::vector<std::filesystem::path>& plugins) {
  std::vector<mapping::Defect> found = files.empty() && plugins.empty() ? lint::check_shipped() : std::vector<mapping::Defect>();
  const auto table = lint::read_over_shipped(files, plugins, found).table;
  std::vector<TableDefect> defects;
  for (const auto& defect : found)
    defects.push_back({defect.place.file, defect.place.line, defect.place.column, defect.message, std::string(table.source_line(defect.place))});
  return defects;
}

}  // namespace

std::vector<TableDefect> lint_tables(const std::vector<std::filesystem::path>& files, const std::vector<std::filesystem::path>& plugins) {
  return analysis::guarded("the tables", [&] { return defects_of(files, plugins); });
}

}  // namespace compatcheck

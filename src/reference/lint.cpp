// compatcheck::lint_tables: the library's face of src/lint.
#include "analysis/boundary.h"
#include "compatcheck/reference.h"
#include "engines/reading/read_profile.h"
#include "engines/targets.h"
#include "lint/in_force.h"
#include "mapping/files.h"
#include "mapping/reading/folder.h"

namespace compatcheck {
namespace {

// Removes the engine profiles from `files`, and returns their defects.
std::vector<TableDefect> profile_defects(std::vector<std::filesystem::path>& files) {
  std::vector<TableDefect> defects;
  std::erase_if(files, [&](const std::filesystem::path& file) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(file, failed))
      return false;  // can be read only once; the reader of tables reports what is wrong with it
    const std::string text = mapping::read_file(file);
    try {
      if (!engines::is_profile({text, file.string()})) return false;
      engines::read_own_profile({text, file.string()});
    } catch (const mapping::yaml::DefectError& error) {
      const auto& [place, message] = error.defect;
      defects.push_back(
          {place.file, place.line, place.column, message, std::string(mapping::yaml::line_of(text, place.line)), false});
    }
    return true;
  });
  return defects;
}

std::vector<TableDefect> defects_of(const std::vector<std::filesystem::path>& files,
                                    const std::vector<std::filesystem::path>& plugins) {
  std::vector<mapping::Defect> found = files.empty() && plugins.empty() ? lint::check_shipped() : std::vector<mapping::Defect>();
  std::vector<std::filesystem::path> tables = mapping::table_files(files);
  std::vector<TableDefect> defects = profile_defects(tables);
  const auto in_force = lint::read_over_shipped(tables, plugins, found);
  const auto add = [&](const std::vector<mapping::Defect>& all, bool is_note) {
    for (const auto& [place, message] : all)
      defects.push_back({place.file, place.line, place.column, message, std::string(in_force.table.source_line(place)), is_note});
  };
  add(found, false);
  add(lint::notes_on(in_force), true);
  return defects;
}

}  // namespace

std::vector<TableDefect> lint_tables(const std::vector<std::filesystem::path>& files,
                                     const std::vector<std::filesystem::path>& plugins) {
  return analysis::guarded("the tables", [&] { return defects_of(files, plugins); });
}

}  // namespace compatcheck

// Build step: turns mappings/ into C++ files, the encoded tables and the traits of operators.
//   compile_tables rows|traits MAPPINGS_FOLDER OUT.cpp
#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>

#include "mapping/reading/encoding.h"
#include "mapping/reading/string_literal.h"

namespace {

using namespace compatcheck::mapping;

void write_rows(std::ostream& out, const Tables& tables) {
  out << "#include <string_view>\n\nnamespace compatcheck::mapping {\n\nnamespace {\nconstexpr char bytes[] =\n";
  write_literal(out, encode(tables));
  out << "  ;\n}  // namespace\n\nstd::string_view shipped_bytes() { return {bytes, sizeof bytes - 1}; }\n\n}  // namespace "
         "compatcheck::mapping\n";
}

// Its own, or its operator's.
bool has_random_row(const OperatorRows& rows, const Tables& tables) {
  const auto alias = std::ranges::find(tables.operators, rows.alias, &OperatorRows::name);
  const auto& history = alias == tables.operators.end() ? rows.history : alias->history;
  return std::ranges::any_of(history, [](const Entry& entry) { return std::ranges::any_of(entry.rows, &Row::random); });
}

void write_traits(std::ostream& out, const Tables& tables) {
  using compatcheck::schema::Trait;
  std::map<std::string, compatcheck::schema::TraitSet> all;
  for (const OperatorRows& rows : tables.operators)
    if (has_random_row(rows, tables)) all[std::string(split_overload(rows.name).first)] |= only(Trait::random);
  const auto add = [&](const auto& items) {
    for (const auto& item : items)
      if (item.traits != 0) all[item.name] |= item.traits;
  };
  add(tables.operators), add(tables.structural);
  out << "#include \"schema/shipped.h\"\n\nnamespace compatcheck::schema {\n\nnamespace {\nconstexpr OperatorTraits all[] = {\n";
  for (const auto& [op, traits] : all) out << "    {\"" << op << "\", " << traits << "},\n";
  out << "};\n}  // namespace\n\nconst std::span<const OperatorTraits> shipped_traits = all;\n\n}  // namespace "
         "compatcheck::schema\n";
}

int compile(std::string_view what, const std::filesystem::path& folder, const std::filesystem::path& file) {
  std::vector<Defect> defects;
  const Tables tables = read_folder(folder, "mappings/", defects);
  if (!defects.empty()) {
    std::cerr << describe(defects, tables) << "\n";
    return 1;
  }
  std::ofstream out(file, std::ios::binary);
  out << "// Generated from mappings/.\n";
  (what == "rows" ? write_rows : write_traits)(out, tables);
  out.close();
  if (!out) std::cerr << file.string() << ": can't be written\n";
  return out ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string_view what = argc == 4 ? argv[1] : "";
    if (what == "rows" || what == "traits") return compile(what, argv[2], argv[3]);
    std::cerr << "usage: compile_tables rows|traits MAPPINGS_FOLDER OUT.cpp\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

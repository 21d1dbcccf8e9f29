// Build step: turns mappings/ into C++ files, the encoded tables and the traits of operators.
//   compile_tables rows|traits MAPPINGS_FOLDER OUT.cpp
#include <algorithm>
#include <map>
#include <ostream>
#include <stdexcept>

#include "mapping/reading/encoding.h"
#include "mapping/reading/string_literal.h"
#include "process/generator_main.h"

namespace {

using namespace compatcheck::mapping;
using compatcheck::schema::Trait;
using compatcheck::schema::TraitSet;

void write_rows(std::ostream& out, const Tables& tables) {
  out << "#include <string_view>\n\nnamespace compatcheck::mapping {\n\nnamespace {\nconstexpr char bytes[] =\n";
  write_literal(out, encode(tables));
  out << "  ;\n}  // namespace\n\nstd::string_view shipped_bytes() { return {bytes, sizeof bytes - 1}; }\n\n}  // namespace "
         "compatcheck::mapping\n";
}

// Traits that follow from the rows and facts of an operator, or of the one whose alias it is.
TraitSet implied_traits(const OperatorRows& rows, const Tables& tables) {
  static const std::map<std::string_view, TraitSet> words = {
      {"comparison", only(Trait::gives_bool)}, {"test", only(Trait::gives_bool)},
      {"pointwise", only(Trait::promotes)},    {"pointwise_float", only(Trait::promotes) | only(Trait::widens)},
      {"same_float", only(Trait::widens)},     {"scan_sum", only(Trait::widens)}};
  const auto alias = std::ranges::find(tables.operators, rows.alias, &OperatorRows::name);
  const OperatorRows& stated = alias == tables.operators.end() ? rows : *alias;
  const auto word = split_overload(rows.name).second.empty() ? words.find(stated.facts) : words.end();
  const auto is_random = [](const Entry& entry) { return std::ranges::any_of(entry.rows, &Row::random); };
  return (std::ranges::any_of(stated.history, is_random) ? only(Trait::random) : 0) | (word == words.end() ? 0 : word->second);
}

void write_traits(std::ostream& out, const Tables& tables) {
  std::map<std::string, TraitSet> all;
  for (const OperatorRows& rows : tables.operators)
    if (const TraitSet implied = implied_traits(rows, tables)) all[std::string(split_overload(rows.name).first)] |= implied;
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

void compile(std::string_view what, const std::filesystem::path& folder, std::ostream& out) {
  if (what != "rows" && what != "traits") throw std::runtime_error("it writes rows or traits, not " + std::string(what));
  std::vector<Defect> defects;
  const Tables tables = read_folder(folder, "mappings/", defects);
  if (!defects.empty()) throw std::runtime_error(describe(defects, tables));
  out << "// Generated from mappings/.\n";
  (what == "rows" ? write_rows : write_traits)(out, tables);
}

}  // namespace

int main(int argc, char** argv) {
  return compatcheck::process::generate(argc, argv, "compile_tables rows|traits MAPPINGS_FOLDER OUT.cpp", 2,
                                        [](auto arguments, std::ostream& out) { compile(arguments[0], arguments[1], out); });
}

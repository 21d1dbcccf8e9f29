// Build step: turns mappings/ into one C++ file that holds the encoded tables.
//   compile_tables MAPPINGS_FOLDER OUT.cpp
#include <exception>
#include <fstream>
#include <iostream>

#include "mapping/reading/encoding.h"
#include "mapping/reading/string_literal.h"

namespace {

int compile(const std::filesystem::path& folder, const std::filesystem::path& file) {
  using namespace compatcheck::mapping;
  std::vector<Defect> defects;
  const Tables tables = read_folder(folder, "mappings/", defects);
  if (!defects.empty()) {
    std::cerr << describe(defects, tables) << "\n";
    return 1;
  }
  std::ofstream out(file, std::ios::binary);
  out << "// Generated from mappings/.\n#include <string_view>\n\nnamespace compatcheck::mapping {\n\nnamespace {\nconstexpr "
         "char bytes[] =\n";
  write_literal(out, encode(tables));
  out << "  ;\n}  // namespace\n\nstd::string_view shipped_bytes() { return {bytes, sizeof bytes - 1}; }\n\n}  // namespace "
         "compatcheck::mapping\n";
  out.close();
  if (!out) std::cerr << file.string() << ": can't be written\n";
  return out ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3) return compile(argv[1], argv[2]);
    std::cerr << "usage: compile_tables MAPPINGS_FOLDER OUT.cpp\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

// Build step: turns mappings/engines/ into one C++ file that holds the profiles.
//   compile_engines FOLDER OUT.cpp
#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

#include "engines/reading/read_profile.h"
#include "mapping/reading/folder.h"
#include "mapping/reading/string_literal.h"

namespace {

namespace fs = std::filesystem;
using namespace compatcheck;
using namespace compatcheck::engines;

int compile(const fs::path& folder, const fs::path& file) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::ranges::sort(files, {}, &fs::path::stem);
  std::ofstream out(file, std::ios::binary);
  out << "// Generated from mappings/engines/.\n#include \"engines/shipped.h\"\n\nnamespace compatcheck::engines {\nnamespace "
         "{\n";
  std::string table;
  for (const fs::path& one : files) {
    const std::string name = "mappings/engines/" + one.filename().string(), number = std::to_string(&one - files.data()),
                      text = mapping::read_file(one);
    const Profile profile = read_profile({text, name});
    if (one.stem() != profile.engine) throw std::runtime_error(name + ": the file is named after its engine");
    const std::string& behind = profile.behind.engine;
    if (!behind.empty() && std::ranges::none_of(files, [&](const fs::path& other) { return other.stem() == behind; }))
      throw std::runtime_error(name + ": `behind: " + behind + "` is no shipped engine");
    out << "constexpr char bytes_" << number << "[] =\n";
    mapping::write_literal(out, encode(profile));
    out << "  ;\n";
    table +=
        "  {\"" + profile.engine + "\", \"" + profile.version + "\", {bytes_" + number + ", sizeof bytes_" + number + " - 1}},\n";
  }
  out << "constexpr Shipped table[] = {\n"
      << table
      << "};\n}  // namespace\n\nstd::span<const Shipped> shipped() { return table; }\n\n}  // namespace compatcheck::engines\n";
  out.close();
  if (!out) std::cerr << file.string() << ": can't be written\n";
  return out ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3) return compile(argv[1], argv[2]);
    std::cerr << "usage: compile_engines FOLDER OUT.cpp\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

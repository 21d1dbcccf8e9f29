// Build step: turns mappings/engines/ into one C++ file that holds the profiles.
//   compile_engines FOLDER OUT.cpp
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "engines/reading/read_profile.h"
#include "mapping/reading/folder.h"
#include "mapping/reading/string_literal.h"
#include "process/generator_main.h"

namespace {

namespace fs = std::filesystem;
using namespace compatcheck;
using namespace compatcheck::engines;

void write_profiles(std::ostream& out, const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::ranges::sort(files, {}, &fs::path::stem);
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
}

}  // namespace

int main(int argc, char** argv) {
  return process::generate(argc, argv, "compile_engines FOLDER OUT.cpp", 1,
                           [](auto arguments, std::ostream& out) { write_profiles(out, arguments[0]); });
}

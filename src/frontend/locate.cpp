#include "frontend/locate.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <vector>

#include "compatcheck/error.h"
#include "frontend/surroundings.h"

namespace compatcheck::frontend {
namespace {

namespace fs = std::filesystem;
constexpr const char* helper_name = "compatcheck-torchscript";
constexpr const char* library_name = "libtorch_cpu.so";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::string first_line_after(const fs::path& file, std::string_view start) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(start)) return line.substr(start.size());
  return {};
}

// The wheel says it in torch/version.py, the zip of libtorch in build-version; both stand beside lib/.
std::string version_beside(const fs::path& lib) {
  std::string text = first_line_after(lib.parent_path() / "version.py", "__version__ = ");
  if (text.empty()) text = first_line_after(lib.parent_path() / "build-version", "");
  const auto begin = text.find_first_of("0123456789");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_first_of("'\" \r", begin) - begin);
}

bool serves(const std::string& version) {
  const std::string_view supported = supported_libtorch();
  return version.empty() ||
         (version.starts_with(supported) && version.size() > supported.size() && version[supported.size()] == '.');
}

// The lib folder of a libtorch root, a lib folder, or a folder of Python packages.
std::optional<fs::path> lib_folder(const fs::path& folder) {
  for (const fs::path& lib : {folder, folder / "lib", folder / "torch" / "lib"})
    if (is_file(lib / library_name)) return lib;
  return std::nullopt;
}

std::string suggestion() {
  return "\n  give one with LoadOptions::libtorch DIR or COMPATCHECK_LIBTORCH, or activate a Python environment with torch " +
         std::string(supported_libtorch());
}

Libtorch named_libtorch(const fs::path& folder, const std::string& by) {
  const auto lib = lib_folder(folder);
  if (!lib)
    throw UsageError(by + " names " + folder.string() + ", where there is no " + library_name +
                     " (looked there, in lib/ and in torch/lib/)");
  Libtorch found{*lib, version_beside(*lib)};
  if (!serves(found.version))
    throw UsageError(by + " names " + folder.string() + ", which is libtorch " + found.version +
                     "; this compatcheck works with " + std::string(supported_libtorch()));
  return found;
}

std::vector<fs::path> unnamed_libtorches() {
  std::vector<fs::path> folders;
  if (const fs::path self = executable_folder(); !self.empty())
    for (const fs::path& folder : {self / "libtorch", self / "lib", self.parent_path() / "libtorch", self.parent_path() / "lib"})
      folders.push_back(folder);
  for (const fs::path& packages : python_packages()) folders.push_back(packages / "torch");
  for (const fs::path& built : split_path(COMPATCHECK_BUILT_WITH_TORCH)) folders.push_back(built);
  return folders;
}

}  // namespace

std::string_view supported_libtorch() { return COMPATCHECK_TORCH_SERIES; }

fs::path find_helper(const LoadOptions& options) {
  const auto named = [](const fs::path& path, const std::string& by) {
    if (!is_file(path))
      throw UsageError(by + " names " + path.string() + " as the TorchScript helper program, which is not there");
    return path;
  };
  if (!options.helper.empty()) return named(options.helper, "the option for it");
  if (const std::string given = variable("COMPATCHECK_HELPER"); !given.empty()) return named(given, "COMPATCHECK_HELPER");
  std::vector<fs::path> places;
  if (const fs::path self = executable_folder(); !self.empty())
    places = {self / helper_name, self / "libexec" / helper_name, self.parent_path() / "libexec" / helper_name};
  for (const fs::path& place : split_path(COMPATCHECK_HELPER_PLACES)) places.push_back(place);
  for (const fs::path& place : places)
    if (is_file(place)) return place;
  throw UsageError(missing_helper(places));
}

std::string missing_helper(const std::vector<fs::path>& places) {
  std::string text =
      "the helper program " + std::string(helper_name) + ", which runs models with libtorch, is not there; looked for";
  for (const fs::path& place : places) text += "\n  " + place.string();
  return text + "\n  in a clone of compatcheck's repository, of the same version, `make` builds it: build/libexec/" +
         helper_name +
         "; `make wheel LIBTORCH=ON` then builds the Python package with it\n  COMPATCHECK_HELPER=FILE names a helper program "
         "elsewhere";
}

Libtorch find_libtorch(const LoadOptions& options) {
  if (!options.libtorch.empty()) return named_libtorch(options.libtorch, "LoadOptions::libtorch");
  for (const char* name : {"COMPATCHECK_LIBTORCH", "LIBTORCH"})
    if (const std::string given = variable(name); !given.empty()) return named_libtorch(given, name);
  std::string looked;
  for (const fs::path& folder : unnamed_libtorches()) {
    const auto lib = lib_folder(folder);
    const std::string version = lib ? version_beside(*lib) : std::string();
    if (lib && serves(version)) return {*lib, version};
    looked += "\n  " + folder.string() + (lib ? " (libtorch " + version + ")" : "");
  }
  throw UsageError("no libtorch " + std::string(supported_libtorch()) + " found to read TorchScript with; looked in" + looked +
                   suggestion());
}

}  // namespace compatcheck::frontend

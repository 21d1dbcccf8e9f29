#include "frontend/locate.h"

#include <algorithm>
#include <cstdio>
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

// torch 2.4 or later: older ones save and load exported programs in other ways.
bool runs_models(const std::string& version) {
  int major = 0, minor = 0;
  return std::sscanf(version.c_str(), "%d.%d", &major, &minor) == 2 && (major > 2 || (major == 2 && minor >= 4));
}

std::string torch_version_in(const fs::path& prefix) {
  for (const fs::path& packages : packages_below(prefix))
    if (const std::string version = version_beside(packages / "torch" / "lib"); !version.empty()) return version;
  return {};
}

// Pythons of the active environment, of the folder of this program (a wheel's), and of the path.
std::vector<fs::path> unnamed_pythons() {
  std::vector<fs::path> found;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string prefix = variable(name); !prefix.empty()) found.push_back(fs::path(prefix) / "bin" / "python3");
  std::vector<fs::path> folders = split_path(variable("PATH"));
  if (const fs::path self = executable_folder(); !self.empty()) folders.insert(folders.begin(), self);
  for (const fs::path& folder : folders) found.push_back(folder / "python3");
  std::erase_if(found, [](const fs::path& python) { return !is_file(python); });
  return found;
}

// Empty if there is none with such a torch; `looked` then lists those that were found.
fs::path find_python(const LoadOptions& options, std::string& looked) {
  const auto named = [](const fs::path& path, const std::string& by) {
    if (!is_file(path)) throw UsageError(by + " names " + path.string() + " as a Python, which is not there");
    return path;
  };
  if (!options.python.empty()) return named(options.python, "LoadOptions::python");
  if (const std::string given = variable("COMPATCHECK_PYTHON"); !given.empty()) return named(given, "COMPATCHECK_PYTHON");
  for (const fs::path& python : unnamed_pythons()) {
    std::string version = torch_version_in(python.parent_path().parent_path());
    if (const std::string home = variable("HOME"); version.empty() && !home.empty())
      version = torch_version_in(fs::path(home) / ".local");
    if (runs_models(version)) return python;
    looked += "\n  " + python.string() + (version.empty() ? " (no torch)" : " (torch " + version + ")");
  }
  return {};
}

Runner python_runner(fs::path python) { return {.program = std::move(python), .arguments = {"-c", std::string(python_helper)}}; }

}  // namespace

Runner find_runner(const LoadOptions& options) {
  const bool by_variable = variable("COMPATCHECK_HELPER").empty() && !variable("COMPATCHECK_PYTHON").empty();
  std::string looked;
  if (!options.op_modules.empty() || (options.helper.empty() && (!options.python.empty() || by_variable))) {
    if (fs::path python = find_python(options, looked); !python.empty()) return python_runner(std::move(python));
    throw UsageError("no Python with torch 2.4 or later found to import " + options.op_modules.front() + "; looked at" + looked +
                     "\n  name one with LoadOptions::python or COMPATCHECK_PYTHON, or activate its environment");
  }
  try {
    fs::path helper = find_helper(options);
    return {.program = std::move(helper), .libraries = find_libtorch(options).lib};
  } catch (const UsageError& error) {
    const bool named = !options.helper.empty() || !options.libtorch.empty() || !variable("COMPATCHECK_HELPER").empty() ||
                       !variable("COMPATCHECK_LIBTORCH").empty() || !variable("LIBTORCH").empty();
    if (named) throw;
    if (fs::path python = find_python(options, looked); !python.empty()) return python_runner(std::move(python));
    throw UsageError("no Python with torch 2.4 or later is there to run the model" +
                     (looked.empty() ? "" : "; looked at" + looked) +
                     "\n  `pip install torch` in its environment is enough; COMPATCHECK_PYTHON=FILE names a Python elsewhere\n" +
                     "Without Python: " + error.what());
  }
}

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

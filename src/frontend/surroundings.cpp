#include "frontend/surroundings.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace compatcheck::frontend {
namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

fs::path executable_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : self.parent_path();
}

std::vector<fs::path> split_path(const std::string& list) {
  std::vector<fs::path> folders;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ':');)
    if (!part.empty()) folders.emplace_back(part);
  return folders;
}

std::vector<fs::path> packages_below(const fs::path& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::path& base : {prefix / "lib", prefix / "local" / "lib"})
    for (fs::directory_iterator at(base, error), end; !error && at != end; at.increment(error))
      if (at->path().filename().string().starts_with("python3"))
        for (const char* packages : {"site-packages", "dist-packages"}) found.push_back(at->path() / packages);
  std::sort(found.begin(), found.end());
  return found;
}

namespace {

// The active environment, found without running Python: by its variables, then by the python3 on the path.
std::vector<fs::path> python_prefixes() {
  std::vector<fs::path> prefixes;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string value = variable(name); !value.empty()) prefixes.emplace_back(value);
  for (const fs::path& folder : split_path(variable("PATH"))) {
    if (::access((folder / "python3").c_str(), X_OK) != 0) continue;
    prefixes.push_back(folder.parent_path());
    break;
  }
  if (const std::string home = variable("HOME"); !home.empty()) prefixes.push_back(fs::path(home) / ".local");
  return prefixes;
}

}  // namespace

std::vector<fs::path> python_packages() {
  std::vector<fs::path> folders;
  for (const fs::path& prefix : python_prefixes())
    for (fs::path& packages : packages_below(prefix)) folders.push_back(std::move(packages));
  return folders;
}

}  // namespace compatcheck::frontend

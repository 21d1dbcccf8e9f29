#include "frontend/torchscript/op_libraries.h"

#include <dlfcn.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "compatcheck/error.h"
#include "frontend/torchscript/library_operators.h"

extern "C" unsigned long aoti_torch_abi_version();

namespace compatcheck::frontend::torchscript {
namespace {

bool load(const std::string& library) { return ::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr; }

std::string last_error() {
  const char* error = ::dlerror();
  return error ? error : "unknown reason";
}

std::filesystem::path libtorch_folder() {
  Dl_info info{};
  if (!::dladdr(reinterpret_cast<void*>(&aoti_torch_abi_version), &info) || !info.dli_fname) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

// Libraries of Python extensions (torchvision's _C.so) leave Python's and libtorch_python's symbols to the process that
// loads them. The Python must be the one that libtorch_python was built for; its folder's name tells.
bool load_python_for(const std::filesystem::path& torch) {
  std::vector<std::string> names;
  for (auto folder = torch; folder.has_relative_path(); folder = folder.parent_path()) {
    const std::string name = folder.filename().string();
    if (name.starts_with("python3."))
      names = {"lib" + name + ".so.1.0", (folder.parent_path() / ("lib" + name + ".so.1.0")).string()};
  }
  for (int minor = 14; names.empty() && minor >= 9; --minor) names.push_back("libpython3." + std::to_string(minor) + ".so.1.0");
  for (const std::string& name : names)
    if (load(name)) return load((torch / "libtorch_python.so").string());
  return false;
}

void load_op_library(const std::string& path) {
  if (!std::filesystem::exists(path)) throw UsageError("the operator library " + path + " is not there");
  const std::string absolute = std::filesystem::absolute(path).string();
  if (load(absolute)) return;
  const std::string first = last_error();
  const bool wants_python =
      first.find("Py") != first.npos || first.find("torch_python") != first.npos || first.find("THPVariable") != first.npos;
  if (wants_python && load_python_for(libtorch_folder()) && load(absolute)) return;
  std::string message = "the operator library " + path + " can't be loaded: " + first;
  if (wants_python)
    message +=
        ". It is a Python extension, and libpython or libtorch_python wasn't found; instead state the operator's schema in a "
        "table "
        "(`schema:` in its row): the library isn't needed to check a model";
  throw UsageError(message);
}

}  // namespace

std::vector<std::string> registered_schemas() {
  std::vector<std::string> schemas;
  for (const auto& op : torch::jit::getAllOperators()) {
    std::ostringstream text;
    text << op->schema();
    schemas.push_back(std::move(text).str());
  }
  std::sort(schemas.begin(), schemas.end());
  return schemas;
}

std::vector<std::string> load_op_libraries(const std::vector<std::string>& paths) {
  static std::map<std::string, std::vector<std::string>> loaded;
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    auto known = loaded.find(path);
    if (known == loaded.end()) {
      unregister_library_operators();
      const auto before = registered_schemas();
      load_op_library(path);
      const auto after = registered_schemas();
      known = loaded.emplace(path, std::vector<std::string>{}).first;
      std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(known->second));
    }
    all.insert(all.end(), known->second.begin(), known->second.end());
  }
  register_library_operators();
  return all;
}

}  // namespace compatcheck::frontend::torchscript

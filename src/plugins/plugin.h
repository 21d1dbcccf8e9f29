// A user's shared library with handlers, facts, conditions and rows (docs/plugins.md), and what it registered.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compatcheck/plugin_abi.h"
#include "onnx/builder.h"

namespace compatcheck::plugins {

// An open library; closed when the last of its functions is gone.
class Library {
 public:
  // Throws TableError: no such file, no library, no plugin, one of another ABI.
  explicit Library(const std::filesystem::path& file);
  ~Library();
  Library(const Library&) = delete;

  const std::string& path() const { return path_; }  // as the user wrote it
  const compatcheck_plugin_entry& entry() const { return *entry_; }

 private:
  std::string path_;
  void* handle_ = nullptr;
  const compatcheck_plugin_entry* entry_ = nullptr;
};

// A function of the library, with its state.
class Function {
 public:
  Function(std::shared_ptr<const Library> library, compatcheck_function function)
      : library_(std::move(library)), function_(function) {}
  ~Function() {
    if (function_.release) function_.release(function_.state);
  }
  Function(const Function&) = delete;

  const std::string& plugin() const { return library_->path(); }
  // An exception, though the function must not throw, becomes a status, too; `thrown` gets its message.
  compatcheck_status operator()(compatcheck_call& call, std::string& thrown) const;

 private:
  std::shared_ptr<const Library> library_;
  compatcheck_function function_;
};
using FunctionRef = std::shared_ptr<const Function>;

struct Handler {
  std::string op;
  onnx::OpsetRange opsets;
  std::vector<std::string> emits;
  std::string facts, schema;
  FunctionRef function;
};
struct Named {
  std::string name;
  FunctionRef function;
};

struct Plugin {
  std::string path;
  std::vector<Handler> handlers;
  std::vector<Named> facts, conditions;
  std::vector<std::string> rows;  // YAML
};

// Opens the library and lets it register. Throws TableError with its path and the reason.
Plugin load(const std::filesystem::path& file);

// The functions that plugins call.
const compatcheck_host& host();

}  // namespace compatcheck::plugins

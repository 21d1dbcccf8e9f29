#include <dlfcn.h>

#include "compatcheck/error.h"
#include "plugins/plugin.h"

namespace compatcheck::plugins {
namespace {

constexpr const char* symbol = "compatcheck_plugin";

std::string last_error() {
  const char* message = dlerror();
  return message ? message : "dlopen failed";
}

// Why it can't be used with this program; empty if it can.
std::string misfit(const compatcheck_plugin_entry& entry) {
  if (entry.abi != compatcheck_abi)
    return "it was built for version " + std::to_string(entry.abi) + " of the plugin interface, this compatcheck has version " +
           std::to_string(compatcheck_abi) + "; build it again with this compatcheck's headers";
  if (entry.host_size > sizeof(compatcheck_host))
    return "it was built with a newer compatcheck, whose interface has functions that this one (" + std::string(host().version) +
           ") lacks";
  if (!entry.enter) return std::string(symbol) + " names no function to enter";
  return {};
}

}  // namespace

Library::Library(const std::filesystem::path& file) : path_(file.string()) {
  const auto fail = [&](const std::string& reason) { throw TableError("plugin " + path_ + ": " + reason); };
  std::error_code error;
  if (!std::filesystem::exists(file, error)) fail("no such file");
  handle_ = dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);  // a path with a slash isn't searched for
  if (!handle_) fail("it can't be loaded: " + last_error());
  entry_ = static_cast<const compatcheck_plugin_entry*>(dlsym(handle_, symbol));
  const std::string reason = entry_ ? misfit(*entry_) : "it is no plugin: it exports no " + std::string(symbol);
  if (reason.empty()) return;
  dlclose(handle_);
  fail(reason);
}

Library::~Library() { dlclose(handle_); }

compatcheck_status Function::operator()(compatcheck_call& call, std::string& thrown) const {
  try {
    return function_.call(function_.state, &host(), &call);
  } catch (const std::exception& error) {
    thrown = error.what();
  } catch (...) {
    thrown = "something that is no std::exception was thrown";
  }
  return compatcheck_failed;
}

}  // namespace compatcheck::plugins

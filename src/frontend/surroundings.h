// Where libraries and programs that we need may lie: variables, our own folder, the active Python environment.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace compatcheck::frontend {

std::string variable(const char* name);                                  // empty if it isn't set
std::vector<std::filesystem::path> split_path(const std::string& list);  // splits at colons
std::filesystem::path executable_folder();                               // the running program's; empty if unknown

// Folders of Python packages below a prefix: lib/python3.11/site-packages, lib/python3/dist-packages.
std::vector<std::filesystem::path> packages_below(const std::filesystem::path& prefix);

// The folders of packages (site-packages) of the active Python environment and of the user, found without running Python.
std::vector<std::filesystem::path> python_packages();

}  // namespace compatcheck::frontend

// Where the helper program and its libtorch are.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/load.h"

namespace compatcheck::frontend {

struct Libtorch {
  std::filesystem::path lib;  // the folder of libtorch_cpu.so
  std::string version;        // "2.13.0+cpu"; empty if nothing beside it tells
};

// Throws UsageError saying what was looked for and where.
std::filesystem::path find_helper(const LoadOptions& options);
// The message if the helper is in none of these places: how to build it, and how to name one.
std::string missing_helper(const std::vector<std::filesystem::path>& places);
// Returns the first libtorch, of those named or found, that the helper was built for. Throws if one that an option or a
// variable names doesn't fit; those found otherwise are skipped.
Libtorch find_libtorch(const LoadOptions& options);

// The process that runs models: the helper program with a libtorch, or a Python with torch that runs the helper in Python.
struct Runner {
  std::filesystem::path program;
  std::vector<std::string> arguments{};
  std::filesystem::path libraries{};  // of libtorch; empty: Python finds its own

  bool is_python() const { return libraries.empty(); }
};
// Python, if modules are to be imported, or if it is named (LoadOptions::python, COMPATCHECK_PYTHON) and the helper program
// isn't; else the helper program, or a Python that is found if there is no such program with its libtorch. Throws UsageError
// saying what was looked for and where.
Runner find_runner(const LoadOptions& options);
extern const std::string_view python_helper;  // the code of the helper in Python

// "2.13": what the helper was built for, and which libtorch serves.
std::string_view supported_libtorch();

}  // namespace compatcheck::frontend

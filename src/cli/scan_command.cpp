// `scan` is a part of the Python package, which has fsspec and Ray. The program reads the options, as those of all commands, and
// hands them over.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/terminal.h"

namespace compatcheck::cli {
namespace {

namespace fs = std::filesystem;

// `-c` puts the current folder first in sys.path, and Python files in it must not run.
constexpr const char* start_package = R"(import sys
sys.path[:] = [path for path in sys.path if path]
try:
    from compatcheck.registry.command import main
except ImportError as error:
    sys.stderr.write(f"scan needs the Python package, and {sys.executable} can't import it ({error}): pip install 'compatcheck[ray] @ file:///PATH/OF/THE/WHEEL'\n")
    sys.exit(2)
sys.exit(main(sys.argv[1:])))";

fs::path own_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

// The Python of the environment that the program is installed in.
std::string python() {
  if (const char* named = std::getenv("COMPATCHECK_PYTHON"); named && *named) return named;
  std::error_code error;
  const fs::path beside = own_folder() / "python3";
  return fs::exists(beside, error) ? beside.string() : "python3";
}

// The package of a build tree.
void find_package() {
  std::error_code error;
  const fs::path package = own_folder() / "python";
  if (!fs::exists(package / "compatcheck" / "registry", error)) return;
  const char* path = std::getenv("PYTHONPATH");
  ::setenv("PYTHONPATH", (package.string() + (path && *path ? ":" + std::string(path) : "")).c_str(), 1);
}

// Pairs of an option and its value; then "--" and the URIs.
std::vector<std::string> handed_over(const Options& options) {
  std::vector<std::string> words;
  for (const GivenOption& given : options.given)
    if (given.name != "--opset") words.insert(words.end(), {given.name, given.value});
  std::string opsets;
  for (const int opset : options.opsets.values) opsets += (opsets.empty() ? "" : ",") + std::to_string(opset);
  words.insert(words.end(), {options.opsets.one_is_enough ? "--opset-range" : "--opset", opsets, "--"});
  words.insert(words.end(), options.positional.begin(), options.positional.end());
  return words;
}

}  // namespace

int run_scan(const Options& options) {
  if (lists_engines(options)) return list_engines(options);
  if (options.positional.empty())
    throw UsageError("no models are named; usage: compatcheck scan URI... -o URI (--help lists the options)");
  if (options.output.empty()) throw UsageError("scan needs a folder for its results: -o URI");
  std::string program = python(), flag = "-c", code = start_package;
  std::vector<std::string> words = handed_over(options);
  std::vector<char*> arguments{program.data(), flag.data(), code.data()};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  find_package();
  ::setenv("PYTHONSAFEPATH", "1", 1);  // the same for Python processes that are started from there
  // Signals that come while Python starts wait until its handlers stand.
  sigset_t ending, before;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
  ::sigprocmask(SIG_BLOCK, &ending, &before);
  ::execvp(program.c_str(), arguments.data());
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  throw UsageError("scan runs in Python, and " + program + " can't be started (" + std::strerror(errno) +
                   "): install Python, then pip install 'compatcheck[ray] @ file:///PATH/OF/THE/WHEEL'");
}

}  // namespace compatcheck::cli

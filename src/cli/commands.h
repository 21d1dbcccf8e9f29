// The table of commands.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace compatcheck::cli {

struct Command {
  std::string_view name;
  std::string_view arguments;  // "MODEL..."
  std::string_view summary;
  std::string_view words;              // completions of its arguments: words, "<file>", or "<subject>" of explain
  int (*run)(const Options& options);  // the exit code
};

std::span<const Command> command_table();
const Command* find_command(std::string_view name);  // null if there is none

// Throws if more files are named than the command takes: "one model".
void take_at_most(std::size_t most, std::string_view what, std::string_view command, const Options& options);

int run_check(const Options& options);
int run_convert(const Options& options);
int run_verify(const Options& options);
int run_scan(const Options& options);
int run_inspect(const Options& options);
int run_extract(const Options& options);
int run_diff(const Options& options);
int run_render(const Options& options);
int run_ops(const Options& options);
int run_explain(const Options& options);
int run_lint(const Options& options);
int run_completion(const Options& options);
int run_schema(const Options& options);
int run_man(const Options& options);

// --target list.
bool lists_engines(const Options& options);
int list_engines(const Options& options);

// Returns the text that --print-config prints.
std::string describe_configuration(const Command& command, const Options& options);

std::string help();  // help of the program
std::string help(const Command& command);

// The whole program; never throws.
int run(int argc, char** argv);

}  // namespace compatcheck::cli

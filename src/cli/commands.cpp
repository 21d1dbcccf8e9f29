#include "cli/commands.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "cli/arguments.h"
#include "cli/environment.h"
#include "cli/option_table.h"
#include "cli/program_log.h"
#include "cli/signals.h"
#include "cli/terminal.h"

namespace compatcheck::cli {
namespace {

constexpr std::array commands_shipped{
    Command{"check", "MODEL...", "classify every operator of a model; the default command", "<file>", run_check},
    Command{"convert", "MODEL -o FILE", "convert a model to ONNX, or an ONNX file to another opset", "<file>", run_convert},
    Command{"verify", "MODEL [FILE.onnx]", "run the model and ONNX Runtime on the same inputs and compare", "<file>", run_verify},
    Command{"scan", "URI... -o URI", "check a registry of models on a Ray cluster", "<file>", run_scan},
    Command{"inspect", "MODEL", "show the nodes, attributes and weights of a .pt, .pt2 or .onnx file", "<file>", run_inspect},
    Command{"extract", "MODEL.onnx -o FILE", "write a part of an ONNX model, or the whole model with more outputs", "<file>",
            run_extract},
    Command{"diff", "A B", "compare two models or two saved JSON reports", "<file>", run_diff},
    Command{"render", "REPORT.json...", "write saved JSON reports in another format", "<file>", run_render},
    Command{"ops", "[OP...]", "show what each operator becomes", "", run_ops},
    Command{"explain", "NAME [MODEL]", "explain a rule, an operator at all opsets, or an engine", "<subject>", run_explain},
    Command{"lint", "[TABLE.yaml...]", "check mapping tables and engine profiles (default: the shipped tables)", "<file>",
            run_lint},
    Command{"completion", "bash|zsh|fish", "print completions for a shell", "bash zsh fish", run_completion},
    Command{"man", "[COMMAND]", "print the manual page of the program or a command",
            "check convert verify scan inspect extract diff render ops explain lint", run_man},
    Command{"schema", "[COMMAND]", "print the JSON Schema of a command's output", "check verify inspect diff", run_schema},
};

int print(const std::string& text) {
  write_stdout(text);
  return 0;
}

// For words that name neither a command nor a file: a rule, or a command that is spelled in another way. Empty if neither.
std::string hint_for(const std::vector<std::string>& words) {
  const auto is_file = [](const std::string& word) {
    std::error_code failed;
    return std::filesystem::exists(word, failed) || word.find_first_of("./") != std::string::npos;
  };
  if (words.empty() || is_file(words.front())) return {};
  for (const std::string& word : words)
    if (const auto rules = rule_ids(); std::ranges::find(rules, word) != rules.end())
      return "`compatcheck explain " + word + "` prints the page of a rule";
  std::vector<std::string> names;
  for (const Command& command : commands_shipped) names.emplace_back(command.name);
  const std::string near = nearest(words.front(), names);
  return near.empty() ? near
                      : "there is no command '" + words.front() + "'; did you mean " + near + "? (a model of that name: ./" +
                            words.front() + ")";
}

// The first word that is no option names the command, if it is one; else it is a model to check.
int dispatch(std::vector<std::string> arguments) {
  if (arguments.empty()) {
    std::fputs(help().c_str(), stderr);
    return exit_usage;
  }
  if (arguments[0] == "--version") return print("compatcheck " COMPATCHECK_VERSION "\n");
  if (arguments[0] == "help") arguments.size() > 1 ? arguments = {arguments[1], "--help"} : arguments = {"--help"};
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  const bool wants_help =
      std::any_of(arguments.begin(), separator, [](const std::string& word) { return word == "--help" || word == "-h"; });
  const std::size_t at = first_word(arguments);
  if (at == arguments.size() && wants_help) return print(help());
  const std::string word = at < arguments.size() ? arguments[at] : "";
  const Command* command = find_command(word);
  if (command)
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(at));
  else
    command = find_command("check");
  if (wants_help) return print(help(*command));
  const Options options = parse_arguments(*command, arguments);
  start_log(options);
  for (const auto& warning : misspelt_variables()) write_message(warning);
  if (word != command->name && at < arguments.size())
    if (const std::string hint = hint_for(options.positional); !hint.empty()) throw UsageError(hint);
  return options.print_configuration ? print(describe_configuration(*command, options)) : command->run(options);
}

}  // namespace

void take_at_most(std::size_t most, std::string_view what, std::string_view command, const Options& options) {
  if (options.positional.size() <= most) return;
  std::string named;
  for (const std::string& word : options.positional) named += (named.empty() ? "" : ", ") + word;
  throw UsageError(std::string(command) + " takes " + std::string(what) + "; " + std::to_string(options.positional.size()) +
                   " are named: " + named);
}

std::span<const Command> command_table() { return commands_shipped; }

const Command* find_command(std::string_view name) {
  const auto found = std::find_if(commands_shipped.begin(), commands_shipped.end(),
                                  [&](const Command& command) { return command.name == name; });
  return found == commands_shipped.end() ? nullptr : &*found;
}

int run(int argc, char** argv) {
  end_at_signals();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write, not the end of the process
  try {
    return dispatch({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    return end_with(error);
  }
}

}  // namespace compatcheck::cli

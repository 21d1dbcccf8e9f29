// Manual pages in roff, made from the tables of commands and options.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/option_table.h"
#include "cli/terminal.h"

namespace compatcheck::cli {
namespace {

// Backslashes and hyphens mean something to roff, and a line that begins with a dot or an apostrophe is a request.
std::string roff(std::string_view text) {
  std::string escaped;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
    line_start = c == '\n';
  }
  return escaped;
}

std::string page_head(const std::string& name, std::string_view summary) {
  return ".TH " + name + " 1 \"\" \"compatcheck " COMPATCHECK_VERSION "\" \"User Commands\"\n.SH NAME\n" + roff(name) + " \\- " +
         roff(summary) + "\n";
}

std::string option_entry(const Option& option) {
  std::string entry = ".TP\n";
  if (!option.short_name.empty()) entry += "\\fB" + roff(option.short_name) + "\\fR, ";
  entry += "\\fB" + roff(option.name) + "\\fR";
  if (!option.value.empty()) entry += " \\fI" + roff(option.value) + "\\fR";
  entry += "\n" + roff(option.help);
  if (option.has_words()) entry += ". One of: " + roff(option.choices);
  if (option.repeatable && !option.value.empty()) entry += ". May be given several times";
  return entry + ". (" + roff(environment_name(option)) + ")\n";
}

constexpr const char* exit_codes =
    ".SH EXIT STATUS\n"
    ".TP\n0\nNo finding at or above \\-\\-fail\\-on.\n"
    ".TP\n1\nFindings at or above \\-\\-fail\\-on, for example a model that doesn't convert, outputs that differ, or an error in "
    "a table.\n"
    ".TP\n2\nUsage, configuration, table or plugin error.\n"
    ".TP\n3\nThe model can't be read, or an internal error.\n"
    ".TP\n130\nInterrupted by Ctrl-C or SIGTERM; no unfinished file is left.\n";

std::string program_page() {
  std::string page =
      page_head("compatcheck", "check, convert and verify PyTorch model files for ONNX") +
      ".SH SYNOPSIS\n.B compatcheck\n[\\fBcheck\\fR] \\fIMODEL\\fR... [\\fIOPTIONS\\fR]\n.br\n.B compatcheck\n\\fICOMMAND\\fR "
      "...\n"
      ".SH DESCRIPTION\n"
      "Reads a PyTorch model file (TorchScript or torch.export) without its Python code. Reports what each operator becomes at "
      "an ONNX opset, the source line "
      "of "
      "each operator that doesn't convert, and what to do about it. Writes the ONNX model, and compares it with PyTorch.\n"
      ".SH COMMANDS\n";
  for (const Command& command : command_table())
    page += ".TP\n\\fB" + roff(command.name) + "\\fR " + roff(command.arguments) + "\n" + roff(command.summary) +
            ". See \\fBcompatcheck\\-" + roff(command.name) + "\\fR(1).\n";
  return page + exit_codes +
         ".SH ENVIRONMENT\nEach option has an environment variable: COMPATCHECK_OPSET=11 is \\-\\-opset 11. The value of a "
         "repeatable option has one line for each. "
         "NO_COLOR and FORCE_COLOR are honoured.\n"
         ".SH FILES\n.TP\n\\fIcompatcheck.yaml\\fR\nThe configuration: the nearest file of this name, in the working folder or "
         "above it.\n";
}

std::string command_page(const Command& command) {
  std::string page = page_head("compatcheck-" + std::string(command.name), command.summary) + ".SH SYNOPSIS\n.B compatcheck " +
                     roff(command.name) + "\n" + roff(command.arguments) + " [\\fIOPTIONS\\fR]\n";
  const auto options = options_of(command.name);
  if (!options.empty()) page += ".SH OPTIONS\n";
  for (const Option* option : options) page += option_entry(*option);
  return page + exit_codes + ".SH SEE ALSO\n\\fBcompatcheck\\fR(1)\n";
}

// Formats and pages it as `man` does. Returns whether there is a `man` for that.
bool page_on_terminal(const std::string& roff) {
  std::signal(SIGPIPE, SIG_DFL);  // the child inherits it
  std::FILE* man = popen("man -l - 2>/dev/null", "w");
  std::signal(SIGPIPE, SIG_IGN);
  if (!man) return false;
  std::fwrite(roff.data(), 1, roff.size(), man);
  const int status = pclose(man);
  return WIFSIGNALED(status) || WEXITSTATUS(status) == 0;
}

// Where `man` is lacking, a terminal gets the text of --help.
void write_manual(const std::string& roff, const std::string& plain) {
  if (!isatty(STDOUT_FILENO))
    write_stdout(roff);
  else if (!page_on_terminal(roff))
    write_stdout(plain);
}

std::string names_by_line() {
  std::string names;
  for (const Command& command : command_table()) names += std::string(command.name) + "\n";
  return names;
}

}  // namespace

int run_man(const Options& options) {
  if (options.list_commands) {
    write_stdout(names_by_line());
    return exit_passed;
  }
  take_at_most(1, "one command", "man", options);
  if (options.positional.empty()) {
    write_manual(program_page(), help());
    return exit_passed;
  }
  const std::string& name = options.positional.front();
  const Command* command = find_command(name);
  if (!command) {
    std::vector<std::string> names;
    for (const Command& each : command_table()) names.emplace_back(each.name);
    const std::string near = nearest(name, names);
    throw UsageError("there is no command " + name + (near.empty() ? "" : "; did you mean " + near + "?"));
  }
  write_manual(command_page(*command), help(*command));
  return exit_passed;
}

}  // namespace compatcheck::cli

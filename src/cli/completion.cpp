// Completion scripts, made from the tables of commands and options.
#include "cli/commands.h"
#include "cli/option_table.h"
#include "cli/terminal.h"

namespace compatcheck::cli {
namespace {

std::string command_names() {
  std::string names;
  for (const Command& command : command_table()) names += (names.empty() ? "" : " ") + std::string(command.name);
  return names;
}

std::string option_names(const Command& command) {
  std::string names = "--help";
  for (const Option* option : options_of(command.name)) names += " " + std::string(option->name);
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string words_of(std::string_view choices) {
  if (choices == "<engine>") return joined(engine_names()) + " list";
  if (choices == "<subject>") return joined(rule_ids()) + " targets " + joined(engine_names());
  return std::string(choices);
}

// The words after `option`, as a bash expression.
std::string bash_values(std::string_view choices) {
  if (choices.empty()) return "COMPREPLY=()";
  if (choices == "<file>") return "COMPREPLY=($(compgen -f -- \"$cur\"))";
  if (choices == "<folder>") return "COMPREPLY=($(compgen -d -- \"$cur\"))";
  const std::string own =
      choices == "<engine>" ? "; COMPREPLY+=($(compgen -f -X '!*.y*ml' -- \"$cur\"))" : "";  // the user's own profile
  return "COMPREPLY=($(compgen -W \"" + words_of(choices) + "\" -- \"$cur\"))" + own;
}

// "check --format"|"lint --format": where a row of the table is meant.
std::string bash_pattern(const Option& option) {
  std::string pattern;
  for (const Command& command : command_table())
    if (serves(option, command.name))
      pattern += (pattern.empty() ? "\"" : "|\"") + std::string(command.name) + " " + std::string(option.name) + "\"";
  return pattern;
}

std::string bash() {
  std::string script =
      "_compatcheck() {\n"
      "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" command=check word\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \" " +
      command_names() +
      " \" in *\" $word \"*) command=\"$word\"; break;; esac\n"
      "  done\n"
      "  case \"$command $prev\" in\n";
  for (const Option& option : option_table())
    if (!option.value.empty()) script += "    " + bash_pattern(option) + ") " + bash_values(option.choices) + "; return;;\n";
  script +=
      "  esac\n"
      "  if [[ \"$cur\" == -* ]]; then\n"
      "    case \"$command\" in\n";
  for (const Command& command : command_table())
    script +=
        "      " + std::string(command.name) + ") COMPREPLY=($(compgen -W \"" + option_names(command) + "\" -- \"$cur\"));;\n";
  script +=
      "    esac\n"
      "    return\n"
      "  fi\n"
      "  case \"$command\" in\n";
  for (const Command& command : command_table())
    script += "    " + std::string(command.name) + ") " + bash_values(command.words) + ";;\n";
  script +=
      "  esac\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then COMPREPLY+=($(compgen -W \"" +
      command_names() +
      "\" -- \"$cur\")); fi\n"
      "}\n"
      "complete -o filenames -F _compatcheck compatcheck\n";
  return script;
}

std::string fish_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
  return quoted + "'";
}

// Where a row of the table is meant: after one of its commands, or, check being the default, after none of the others.
std::string fish_condition(const Option& option) {
  std::string own, others;
  for (const Command& command : command_table()) (serves(option, command.name) ? own : others) += " " + std::string(command.name);
  return serves(option, "check") ? "not __fish_seen_subcommand_from" + others : "__fish_seen_subcommand_from" + own;
}

std::string fish() {
  std::string script;
  for (const Command& command : command_table())
    script += "complete -c compatcheck -n __fish_use_subcommand -a " + std::string(command.name) + " -d " +
              fish_quoted(command.summary) + "\n";
  for (const Command& command : command_table())
    if (!command.words.empty() && command.words != "<file>")
      script += "complete -c compatcheck -n '__fish_seen_subcommand_from " + std::string(command.name) + "' -f -a " +
                fish_quoted(words_of(command.words)) + "\n";
  for (const Option& option : option_table()) {
    script += "complete -c compatcheck -n " + fish_quoted(fish_condition(option)) + " -l " + std::string(option.name.substr(2));
    if (!option.short_name.empty()) script += " -s " + std::string(option.short_name.substr(1));
    if (!option.value.empty()) script += option.choices.starts_with('<') ? " -r -F" : " -x";
    if (option.has_words() || option.choices == "<engine>") script += " -a " + fish_quoted(words_of(option.choices));
    script += " -d " + fish_quoted(option.help) + "\n";
  }
  return script;
}

std::string zsh() { return "#compdef compatcheck\nautoload -U +X bashcompinit && bashcompinit\n" + bash(); }

}  // namespace

int run_completion(const Options& options) {
  const std::string shell = options.positional.size() == 1 ? options.positional.front() : "";
  if (shell == "bash")
    write_stdout(bash());
  else if (shell == "zsh")
    write_stdout(zsh());
  else if (shell == "fish")
    write_stdout(fish());
  else
    throw UsageError("completion takes one of bash, zsh, fish");
  return 0;
}

}  // namespace compatcheck::cli

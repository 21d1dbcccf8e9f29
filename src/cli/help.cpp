// --help, made from the tables of commands and options.
#include "cli/commands.h"
#include "cli/option_table.h"
#include "cli/terminal.h"

namespace compatcheck::cli {
namespace {

std::string padded(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

// "text json" → "text, json".
std::string listed(std::string_view words) {
  std::string text;
  for (const char letter : words) text += letter == ' ' ? ", " : std::string(1, letter);
  return text;
}

}  // namespace

std::string help() {
  std::string text =
      "compatcheck checks whether a PyTorch model file (TorchScript or torch.export) converts to ONNX, converts it and\n"
      "verifies the result.\n"
      "\n"
      "usage: compatcheck [check] MODEL... [--opset N]\n"
      "       compatcheck COMMAND ...\n"
      "\n"
      "MODEL is a TorchScript file (.pt, .pth, .torchscript), an exported program (.pt2), a TorchScript graph as text\n"
      "(.txt, .ir), a folder, or '-' for stdin.\n"
      "\n"
      "commands\n";
  for (const Command& command : command_table())
    text +=
        "  " + padded(std::string(command.name) + " " + std::string(command.arguments), 28) + std::string(command.summary) + "\n";
  return for_terminal(text +
                      "\n"
                      "exit codes\n"
                      "  0  no finding fails the gate\n"
                      "  1  a finding fails the gate (--fail-on)\n"
                      "  2  an error in the options, the configuration, a mapping file or a plugin\n"
                      "  3  the model can't be read, or an internal error\n"
                      "130  interrupted by Ctrl-C or SIGTERM\n"
                      "\n"
                      "compatcheck COMMAND --help lists the options of a command. Each option has an environment variable: "
                      "COMPATCHECK_OPSET=11.\n");
}

std::string help(const Command& command) {
  std::string text = "usage: compatcheck " + std::string(command.name) + (command.arguments.empty() ? "" : " ") +
                     std::string(command.arguments) + "\n\n" + std::string(command.summary) + "\n";
  const auto options = options_of(command.name);
  if (!options.empty()) text += "\noptions\n";
  for (const Option* option : options) {
    std::string name = (option->short_name.empty() ? "" : std::string(option->short_name) + ", ") + std::string(option->name);
    if (!option->value.empty()) name += " " + std::string(option->value);
    std::string note = std::string(option->help);
    if (option->has_words()) note += " (one of: " + listed(option->choices) + ")";
    if (option->repeatable && !option->value.empty()) note += " (repeatable)";
    text += "  " + padded(name, 32) + note + "\n";
  }
  return for_terminal(text);
}

}  // namespace compatcheck::cli

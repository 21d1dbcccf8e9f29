// --print-config: the values in force and where each comes from.
#include "cli/commands.h"
#include "compatcheck/printable.h"

namespace compatcheck::cli {
namespace {

std::string line(const std::string& name, const std::string& value, const std::string& source) {
  const std::string text = name + (value.empty() ? "" : " " + value);
  return text + std::string(text.size() < 40 ? 40 - text.size() : 1, ' ') + "  # " + source + "\n";
}

std::string severity_word(const std::optional<Severity>& severity) {
  if (!severity) return "off";
  return *severity == Severity::error ? "error" : *severity == Severity::warning ? "warning" : "note";
}

}  // namespace

std::string describe_configuration(const Command& command, const Options& options) {
  const std::string file = options.configuration.file.string();
  std::string text = "# " + std::string(command.name) + ", " +
                     (options.no_configuration ? "no configuration is read"
                      : file.empty()           ? "no configuration was found"
                                               : file) +
                     "\n";
  if (!is_given(options, "--opset")) text += line("--opset", std::to_string(default_opset), "default");
  if (command.name == "check" && !is_given(options, "--fail-on")) text += line("--fail-on", "unconvertible", "default");
  if (!is_given(options, "--export-type")) text += line("--export-type", "onnx", "default");
  for (const auto& given : options.given)
    if (given.name != "--print-config") text += line(given.name, given.value, given.source);
  for (const auto& rule : options.configuration.rules)
    text += line("rule " + rule.rule, severity_word(rule.severity), rule.source);
  for (const auto& entry : options.configuration.allow) {
    std::string what = "allow";
    for (const auto* part : {&entry.op, &entry.rule, &entry.model, &entry.target, &entry.module})
      if (!part->empty()) what += " " + *part;
    text += line(what, entry.expires ? "until " + *entry.expires : "", entry.source);
  }
  return printable_lines(text);
}

}  // namespace compatcheck::cli

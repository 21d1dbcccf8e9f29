// The commands that need no model: ops, explain, lint, schema.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "compatcheck/printable.h"

namespace compatcheck::cli {
namespace {

ReferenceOptions reference_options(const Options& options) {
  return {.mappings = options.load.mappings,
          .plugins = options.load.plugins,
          .op_libraries = options.load.op_libraries,
          .op_modules = options.load.op_modules,
          .libtorch = options.load.libtorch,
          .python = options.load.python,
          .opset = options.opset,
          .format = options.reference_format,
          .color = use_color(options.color),
          .width = terminal_width(),
          .model = {},
          .scaffold = options.scaffold};
}

void write_page(const std::string& text, const Options& options) {
  const bool is_page = options.reference_format == ReferenceFormat::text && options.scaffold == Scaffold::none;
  write_stdout(is_page ? for_terminal(text) : text);
}

}  // namespace

int run_ops(const Options& options) {
  write_page(describe_operators(options.positional, reference_options(options)), options);
  return 0;
}

int run_explain(const Options& options) {
  constexpr std::string_view subject = "one rule (CC005), operator (aten::gelu) or engine (tensorrt)";
  ReferenceOptions how = reference_options(options);
  if (options.positional.size() == 2 && options.scaffold == Scaffold::none && std::filesystem::exists(options.positional.back()))
    throw UsageError("explain takes a model only with --scaffold: for the signature of a custom operator that the model calls");
  take_at_most(options.scaffold == Scaffold::none ? 1 : 2, subject, "explain", options);
  if (options.positional.empty()) throw UsageError("explain takes " + std::string(subject));
  if (options.positional.size() == 2) how.model = options.positional.back();
  write_page(explain(options.positional.front(), how), options);
  return 0;
}

int run_lint(const Options& options) {
  const auto defects = lint_tables({options.positional.begin(), options.positional.end()}, options.load.plugins);
  const auto count = std::ranges::count(defects, false, &TableDefect::is_note);
  std::string text;
  for (const auto& defect : defects) {
    text += defect.file + ":" + std::to_string(defect.line) + ":" + std::to_string(defect.column) + ": " +
            (defect.is_note ? "note: " : "") + defect.message + "\n";
    if (!defect.source_line.empty())
      text += "    " + printable(defect.source_line) + "\n    " +
              std::string(static_cast<std::size_t>(defect.column > 0 ? defect.column - 1 : 0), ' ') + "^\n";
  }
  text += count == 0 ? "no defects\n" : std::to_string(count) + (count == 1 ? " defect\n" : " defects\n");
  write_stdout(text);
  return count == 0 ? exit_passed : exit_findings;
}

int run_schema(const Options& options) {
  if (options.positional.size() > 1) throw UsageError("schema takes one command at most: check, verify, inspect or diff");
  write_stdout(options.positional.empty() ? json_schema() : json_schema(options.positional.front()));
  return 0;
}

}  // namespace compatcheck::cli

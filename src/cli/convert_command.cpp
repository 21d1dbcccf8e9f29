#include "cli/commands.h"
#include "cli/read_model.h"
#include "cli/terminal.h"
#include "cli/workers.h"

namespace compatcheck::cli {
namespace {

constexpr double slowest_bytes_a_second = 10e6;  // of a disk

int convert_model(const Options& options) {
  if (options.positional.size() != 1)
    throw UsageError("which model? usage: compatcheck convert MODEL -o FILE (--help lists the options)");
  if (options.output.empty()) throw UsageError("where to? compatcheck convert " + options.positional.front() + " -o FILE");
  ProgressLine progress(options.progress);
  const Model model = read_model(options.load, options.positional.front());
  ConvertOptions asked = convert_options(options);
  asked.run.progress = [&](const Progress& at) {
    if (at.total > 0) progress.show(std::string(at.stage) + " " + std::to_string(at.done * 100 / at.total) + " %");
  };
  const Report report = convert(model, options.output, asked);
  progress.clear();
  for (const auto& warning : report.model.warnings) write_message(options.positional.front() + ": warning: " + warning);
  if (!report.convertible())
    write_stdout(render(
        report, Format::text,
        {.color = use_color(options.color), .width = terminal_width(), .quiet = options.quiet, .verbosity = options.verbosity}));
  else if (!options.quiet)
    write_message(options.output.string() + ": written, opset " + std::to_string(asked.opset));
  return report.convertible() ? exit_passed : exit_findings;
}

}  // namespace

int run_convert(const Options& options) {
  if (options.load.plugins.empty() || options.positional.empty()) return convert_model(options);
  const auto& model = options.positional.front();
  std::error_code error;
  const auto bytes = std::filesystem::file_size(model, error);
  const double writing = error ? 0 : static_cast<double>(bytes) / slowest_bytes_a_second;
  return command_apart(model, 2 * options.check.timeout_seconds + 10 + writing, [&] { return convert_model(options); });
}

}  // namespace compatcheck::cli

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/commands.h"
#include "cli/read_model.h"
#include "cli/terminal.h"
#include "cli/workers.h"

namespace compatcheck::cli {
namespace {

constexpr double slowest_bytes_a_second = 10e6;  // assumed for a slow disk

RenderOptions page_of(const Options& options) {
  return {.color = use_color(options.color), .width = terminal_width(), .quiet = options.quiet, .verbosity = options.verbosity};
}

// The configuration's rules and allow-list speak of warnings, too.
bool accept(Report& report, const Options& options) {
  Policy policy({.configuration = options.configuration});
  policy.apply(report);
  return report.gate.passed;
}

void write_bytes(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || std::fflush(stdout) != 0)
    throw UsageError(std::string("stdout can't be written: ") + std::strerror(errno));
}

Report written(const Model& model, const Options& options, const ConvertOptions& settings) {
  if (options.output != "-") return convert(model, options.output, settings);
  return convert(model, WriteBytes(write_bytes), settings);
}

// A model that isn't written leaves its report, on stdout where no model goes there.
void explain_refusal(const Report& report, const Options& options) {
  const std::string page = render(report, Format::text, page_of(options));
  if (options.output == "-")
    std::fputs(page.c_str(), stderr);
  else
    write_stdout(page);
}

int convert_model(const Options& options) {
  if (options.positional.empty())
    throw UsageError("no model is named; usage: compatcheck convert MODEL -o FILE (--help lists the options)");
  take_at_most(1, "one model", "convert", options);
  if (options.output.empty()) throw UsageError("no output file: compatcheck convert " + options.positional.front() + " -o FILE");
  if (options.output == "-" && isatty(STDOUT_FILENO))
    throw UsageError("--output -: stdout is a terminal, which can't show a model; send it to a file or a pipe");
  ProgressLine progress(options.progress);
  const Model model = read_model(options.load, options.positional.front());
  ConvertOptions settings = convert_options(options);
  settings.accept = [&](Report& report) { return accept(report, options); };
  settings.run.progress = [&](const Progress& at) {
    if (at.total > 0) progress.show(std::string(at.stage) + " " + std::to_string(at.done * 100 / at.total) + " %");
  };
  const Report report = written(model, options, settings);
  progress.clear();
  for (const auto& warning : report.model.warnings) write_message(options.positional.front() + ": warning: " + warning);
  if (!report.written) {
    explain_refusal(report, options);
    return exit_findings;
  }
  if (options.quiet) return exit_passed;
  for (const AssumedInput& input : report.model.assumed)
    write_message(options.positional.front() + ": assumed " +
                  (input.option.empty() ? input.tensor.name + " of " + input.tensor.dtype : "--input " + input.option) +
                  "; another --input overrides");
  for (const StateInfo& state : report.model.state)
    write_message(options.positional.front() + ": attribute " + state.attribute + " is input " + state.input.name +
                  " and output " + state.output + ": pass the output of each call as the input of the next call");
  write_message((options.output == "-" ? "<stdout>" : options.output.string()) + ": written, " + render(*report.written));
  std::fputs(render_findings(report, page_of(options)).c_str(), stderr);
  return exit_passed;
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

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

#include "cli/commands.h"
#include "cli/model_files.h"
#include "cli/read_model.h"
#include "cli/report_output.h"
#include "cli/terminal.h"
#include "cli/workers.h"
#include "compatcheck/check_onnx.h"

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

Report written(const Options& options, const ConvertOptions& settings) {
  const std::string& file = options.positional.front();
  if (is_onnx(file)) {
    if (options.output == "-") throw UsageError("--output -: an ONNX file is written to a file only");
    return convert_onnx(file, options.output, options.opset, settings);
  }
  const Model model = read_model(options.load, file);
  if (options.output != "-") return convert(model, options.output, settings);
  return convert(model, WriteBytes(write_bytes), settings);
}

// A model that isn't written leaves its report, on stdout where no model goes there.
void explain_refusal(const Report& report, const Options& options) {
  const std::string page = render(report, Format::text, page_of(options));
  const bool stdout_in_use =
      options.output == "-" || std::ranges::find(options.reports, "-", &ReportFile::file) != options.reports.end();
  if (stdout_in_use)
    std::fputs(page.c_str(), stderr);
  else
    write_stdout(page);
}

// The report, after the model is written or what prevents it is printed.
Report convert_one(const Options& options) {
  ProgressLine progress(options.progress);
  ConvertOptions settings = convert_options(options);
  settings.accept = [&](Report& report) { return accept(report, options); };
  settings.run.progress = [&](const Progress& at) {
    if (at.total > 0) progress.show(std::string(at.stage) + " " + std::to_string(at.done * 100 / at.total) + " %");
  };
  Report report = written(options, settings);
  progress.clear();
  for (const auto& warning : report.model.warnings) write_message(options.positional.front() + ": warning: " + warning);
  if (!report.written) {
    explain_refusal(report, options);
    return report;
  }
  if (options.quiet) return report;
  for (const AssumedInput& input : report.model.assumed)
    write_message(options.positional.front() + ": assumed " +
                  (input.option.empty() ? input.tensor.name + " of " + input.tensor.dtype : "--input " + input.option) +
                  "; another --input overrides");
  for (const StateInfo& state : report.model.state)
    write_message(options.positional.front() + ": attribute " + state.attribute + " is input " + state.input.name +
                  " and output " + state.output + ": pass the output of each call as the input of the next call");
  write_message((options.output == "-" ? "<stdout>" : options.output.string()) + ": written, " + render(*report.written));
  std::fputs(render_findings(report, page_of(options)).c_str(), stderr);
  return report;
}

int exit_code_of_conversion(const Report& report) { return report.written ? exit_passed : exit_findings; }

void write_report_files(std::span<const Report> reports, Options options) {
  for (const ReportFile& report : options.reports)
    if (report.file == "-") write_stdout(render(reports, report.format, page_of(options)));
  std::erase_if(options.reports, [](const ReportFile& report) { return report.file == "-"; });
  options.output.clear();
  write_reports(reports, options, reports.size() > 1, Stdout::left_out);
}

int convert_file(const Options& options) {
  const Report report = convert_one(options);
  write_report_files({&report, 1}, options);
  return exit_code_of_conversion(report);
}

int convert_folder(const Options& options) {
  namespace fs = std::filesystem;
  const fs::path folder = options.positional.front();
  if (options.output == "-" || fs::is_regular_file(options.output))
    throw UsageError("--output " + options.output.string() + ": the models of a folder need a folder");
  std::vector<Report> reports;
  int code = exit_passed;
  std::size_t converted = 0, all = 0;
  for (const auto& [file, target] : onnx_files_of(folder, options.output)) {
    fs::create_directories(target.parent_path());
    Options one = options;
    one.positional = {file};
    one.output = target;
    ++all;
    try {
      reports.push_back(convert_one(one));
      converted += reports.back().written.has_value();
      code = std::max(code, exit_code_of_conversion(reports.back()));
    } catch (const std::exception& error) {  // fails only this model
      reports.push_back(failure_report(file, error));
      code = std::max(code, end_with(error));
    }
    if (options.reports.empty()) reports.clear();
  }
  write_report_files(reports, options);
  write_message(std::to_string(converted) + " of " + std::to_string(all) + (all == 1 ? " model" : " models") + " written to " +
                options.output.string());
  return code;
}

int convert_models(const Options& options) {
  if (options.positional.empty())
    throw UsageError("no model is named; usage: compatcheck convert MODEL -o FILE (--help lists the options)");
  take_at_most(1, "one model, or one folder", "convert", options);
  if (options.output.empty()) throw UsageError("no output file: compatcheck convert " + options.positional.front() + " -o FILE");
  if (options.output == "-" && isatty(STDOUT_FILENO))
    throw UsageError("--output -: stdout is a terminal, which can't show a model; send it to a file or a pipe");
  if (options.output == "-" && std::ranges::find(options.reports, "-", &ReportFile::file) != options.reports.end())
    throw UsageError("--report: the ONNX model goes to stdout");
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(options.positional.front(), error);
  Options files = options;
  if (options.output == "-" || is_folder) files.output.clear();
  std::erase_if(files.reports, [](const ReportFile& report) { return report.file == "-"; });
  check_report_files(files, options.positional, "the model");
  return is_folder ? convert_folder(options) : convert_file(options);
}

}  // namespace

int run_convert(const Options& options) {
  if (options.load.plugins.empty() || options.positional.empty()) return convert_models(options);
  const auto& model = options.positional.front();
  std::error_code error;
  const auto bytes = std::filesystem::file_size(model, error);
  const double writing = error ? 0 : static_cast<double>(bytes) / slowest_bytes_a_second;
  return command_apart(model, 2 * options.check.timeout_seconds + 10 + writing, [&] { return convert_models(options); });
}

}  // namespace compatcheck::cli

#include <algorithm>
#include <iostream>
#include <iterator>
#include <new>

#include "cli/commands.h"
#include "cli/model_files.h"
#include "cli/terminal.h"

namespace compatcheck::cli {
namespace {

struct Run {
  std::vector<Report> reports;  // of a model that could not be checked: why
  int exit_code = 0;
};

std::string display_name(const std::string& file) { return file == "-" ? "<stdin>" : file; }

std::vector<char> read_stdin() {
  try {
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  } catch (const std::bad_alloc&) {
    throw ModelError("<stdin>: is larger than memory; give it as a file");
  }
}

Model load_model(Loader& loader, const std::string& file) {
  if (file != "-") return loader.load(file);
  const auto bytes = read_stdin();
  return loader.load(std::as_bytes(std::span(bytes)), display_name(file));
}

int exit_code(std::span<const Report> reports, bool one_is_enough) {
  int lowest = reports.front().exit_code, highest = 0;
  for (const Report& report : reports) {
    lowest = std::min(lowest, report.exit_code);
    highest = std::max(highest, report.exit_code);
  }
  return one_is_enough ? lowest : highest;
}

// One model that can't be checked costs that model; the others are reported all the same.
void check_model(Run& run, Loader& loader, const std::string& file, const Options& options, ProgressLine& progress) {
  std::vector<Report> reports;
  try {
    reports = check(load_model(loader, file), options.opsets.values, options.check);
    progress.clear();
    for (const auto& warning : reports.front().model.warnings) write_message(display_name(file) + ": warning: " + warning);
  } catch (const std::exception& error) {
    progress.clear();
    write_message(error.what());
    reports = {failure_report(display_name(file), error)};
  }
  run.exit_code = std::max(run.exit_code, exit_code(reports, options.opsets.one_is_enough));
  run.reports.insert(run.reports.end(), reports.begin(), reports.end());
}

Run check_all(const Options& options, const std::vector<std::string>& files) {
  ProgressLine progress(options.progress);
  Loader loader(options.load);
  Run run;
  for (std::size_t i = 0; i < files.size(); ++i) {
    progress.show("[" + std::to_string(i + 1) + "/" + std::to_string(files.size()) + "] " + files[i]);
    check_model(run, loader, files[i], options, progress);
  }
  return run;
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto whole = [](const std::filesystem::path& file) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(file, error);
    const auto canonical = std::filesystem::weakly_canonical(absolute, error);
    return error ? absolute.lexically_normal() : canonical;
  };
  return whole(a) == whole(b);
}

// A device may be written twice, and is no model.
bool is_device(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error);
}

// Each report to a file of its own, none over a model.
void check_report_files(const std::vector<ReportFile>& reports, const std::vector<std::string>& models) {
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto& file = reports[i].file;
    if (is_device(file)) continue;
    for (std::size_t j = 0; j < i; ++j)
      if (same_file(file, reports[j].file)) throw UsageError("--report: two reports go to " + file.string());
    for (const auto& model : models)
      if (same_file(file, model)) throw UsageError("--report " + file.string() + ": that is the model");
  }
}

}  // namespace

int run_check(const Options& options) {
  if (options.positional.empty()) throw UsageError("which model? usage: compatcheck check MODEL... (--help lists the options)");
  const auto files = model_files(options.positional);
  check_report_files(options.reports, files);
  const Run run = check_all(options, files);
  const bool failed = run.reports.size() == 1 && run.reports.front().error;
  if (failed && run.exit_code == exit_usage) return run.exit_code;  // a slip must not cost an earlier report
  RenderOptions page{.color = use_color(options.color), .width = terminal_width(), .quiet = options.quiet, .verbosity = options.verbosity,
                     .as_list = files.size() * options.opsets.values.size() > 1};
  if (!failed || options.format != Format::text) write_stdout(render(run.reports, options.format, page));  // else stderr says it
  page = {.verbosity = options.verbosity, .as_list = page.as_list};
  for (const auto& report : options.reports) write_file(report.file, render(run.reports, report.format, page));
  return run.exit_code;
}

}  // namespace compatcheck::cli

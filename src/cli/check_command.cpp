#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "cli/commands.h"
#include "cli/model_files.h"
#include "cli/terminal.h"

namespace compatcheck::cli {
namespace {

constexpr int exit_usage = 2;
constexpr int exit_unreadable = 3;

struct Run {
  std::vector<Report> reports;
  int exit_code = 0;
};

Model load_model(Loader& loader, const std::string& file) {
  if (file != "-") return loader.load(file);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  return loader.load(std::as_bytes(std::span(bytes)), "<stdin>");
}

int exit_code(std::span<const Report> reports, bool one_is_enough) {
  int lowest = reports.front().exit_code, highest = 0;
  for (const Report& report : reports) {
    lowest = std::min(lowest, report.exit_code);
    highest = std::max(highest, report.exit_code);
  }
  return one_is_enough ? lowest : highest;
}

// One model that can't be read costs that model; the others are reported all the same.
void check_model(Run& run, Loader& loader, const std::string& file, const Opsets& opsets, const CheckOptions& options,
                 ProgressLine& progress) {
  const auto fail = [&](const std::exception& error, int code) {
    progress.clear();
    std::fprintf(stderr, "compatcheck: %s\n", error.what());
    run.exit_code = std::max(run.exit_code, code);
  };
  try {
    const auto reports = check(load_model(loader, file), opsets.values, options);
    run.exit_code = std::max(run.exit_code, exit_code(reports, opsets.one_is_enough));
    run.reports.insert(run.reports.end(), reports.begin(), reports.end());
  } catch (const UsageError& error) {
    fail(error, exit_usage);
  } catch (const TableError& error) {
    fail(error, exit_usage);
  } catch (const std::exception& error) {
    fail(error, exit_unreadable);
  }
}

Run check_all(const Options& options, const std::vector<std::string>& files, const Opsets& opsets) {
  ProgressLine progress(options.progress);
  Loader loader(options.load);
  Run run;
  for (std::size_t i = 0; i < files.size(); ++i) {
    progress.show("[" + std::to_string(i + 1) + "/" + std::to_string(files.size()) + "] " + files[i]);
    check_model(run, loader, files[i], opsets, options.check, progress);
  }
  return run;
}

}  // namespace

int run_check(const Options& options) {
  if (options.positional.empty()) throw UsageError("which model? usage: compatcheck check MODEL... (--help lists the options)");
  const Format format = report_format(options.format);
  const Opsets opsets = options.opsets.value_or(Opsets{});
  const Run run = check_all(options, model_files(options.positional), opsets);
  const RenderOptions page{.color = use_color(options.color), .width = terminal_width(), .quiet = options.quiet, .verbosity = options.verbosity};
  if (!run.reports.empty()) write_stdout(render(run.reports, format, page));
  for (const auto& report : options.reports) write_file(report.file, render(run.reports, report.format, {.verbosity = options.verbosity}));
  return run.exit_code;
}

}  // namespace compatcheck::cli

#include <fstream>
#include <iterator>

#include "cli/commands.h"
#include "cli/read_model.h"
#include "cli/report_output.h"

namespace compatcheck::cli {
namespace {

std::string contents(const std::string& file) {
  if (file == "-") {
    const auto bytes = read_stdin();
    return {bytes.begin(), bytes.end()};
  }
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw ModelError(file + " is a folder, not a report");
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream || stream.bad()) throw ModelError(file + " can't be read");
  return text;
}

std::vector<Report> read(const std::string& file) {
  const std::string text = contents(file), name = file == "-" ? "<stdin>" : file;
  try {
    return read_reports(text);   // none, of a shard without models
  } catch (const ModelError& error) {
    throw ModelError(name + ": " + error.what());
  }
}

}  // namespace

int run_render(const Options& options) {
  if (options.positional.empty()) throw UsageError("which report? usage: compatcheck render REPORT.json... --format FORMAT (--help lists the options)");
  check_report_files(options, options.positional, "the report to render");
  std::vector<Report> reports;
  for (const auto& file : options.positional)
    for (Report& report : read(file)) reports.push_back(std::move(report));
  Options asked = options;
  if (options.format == Format::text) asked.format = format_by_ending(options.output.string()).value_or(Format::text);   // of -o: none was named
  write_reports(reports, asked, reports.size() > 1);
  return exit_passed;
}

}  // namespace compatcheck::cli

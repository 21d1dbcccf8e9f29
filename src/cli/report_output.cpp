#include "cli/report_output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "cli/output_file.h"
#include "cli/terminal.h"

namespace compatcheck::cli {
namespace {

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

// Whether stdout or stderr goes to this file: one of the two would be lost.
bool is_stream(const std::filesystem::path& file) {
  struct stat that {
  }, own{};
  if (::stat(file.c_str(), &that) != 0 || !S_ISREG(that.st_mode)) return false;
  return std::ranges::any_of(std::array{STDOUT_FILENO, STDERR_FILENO}, [&](int stream) {
    return ::fstat(stream, &own) == 0 && own.st_dev == that.st_dev && own.st_ino == that.st_ino;
  });
}

// GitHub drops a summary above 1 MiB whole; other steps of the job may have written some of it.
constexpr std::size_t most_summary_bytes = 900 << 10;

std::string cut_at_line(std::string text) {
  if (text.size() <= most_summary_bytes) return text;
  text.resize(text.rfind('\n', most_summary_bytes) + 1);
  return text + "\n… cut at 900 KiB: `--report markdown=FILE` has all of it\n";
}

// A summary that can't be written is no reason to fail the check.
void append_step_summary(std::span<const Report> reports, const RenderOptions& page) {
  const char* file = std::getenv("GITHUB_STEP_SUMMARY");
  if (!file || !*file) return;
  std::ofstream stream(file, std::ios::binary | std::ios::app);
  stream << cut_at_line(render(reports, Format::markdown, page));
  stream.close();
  if (!stream) write_message("warning: " + std::string(file) + " (GITHUB_STEP_SUMMARY) can't be written");
}

}  // namespace

Options with_stdout(Options options) {
  bool stdout_in_use = options.output == "-" || (options.output.empty() && is_given(options, "--format"));
  if (options.output == "-") options.output.clear();
  std::optional<Format> format;
  for (const auto& report : options.reports) {
    if (report.file != "-") continue;
    if (std::exchange(stdout_in_use, true)) throw UsageError("--report: two reports go to stdout");
    format = report.format;
  }
  if (!format) return options;
  std::erase_if(options.reports, [](const ReportFile& report) { return report.file == "-"; });
  if (!options.output.empty()) options.reports.push_back({options.format, std::exchange(options.output, {})});
  options.format = *format;
  return options;
}

void check_report_files(const Options& options, const std::vector<std::string>& inputs, const std::string& input_is) {
  std::vector<std::pair<std::string, std::filesystem::path>> files;  // option and file
  if (!options.output.empty()) files.emplace_back("--output", options.output);
  for (const auto& report : options.reports) files.emplace_back("--report", report.file);
  if (!options.write_baseline.empty()) files.emplace_back("--write-baseline", options.write_baseline);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& [option, file] = files[i];
    if (is_device(file)) continue;
    if (is_stream(file))
      throw UsageError(option + " " + file.string() + ": this program's stdout or stderr goes there; '-' is stdout");
    std::error_code error;
    if (const auto folder = file.parent_path(); !folder.empty() && !std::filesystem::is_directory(folder, error))
      throw UsageError(option + " " + file.string() + ": there is no folder " + folder.string());
    for (std::size_t j = 0; j < i; ++j)
      if (same_file(file, files[j].second)) throw UsageError(option + ": two reports go to " + file.string());
    for (const auto& input : inputs)
      if (same_file(file, input)) throw UsageError(option + " " + file.string() + ": that is " + input_is);
  }
}

void write_reports(std::span<const Report> reports, const Options& options, bool as_list, Stdout to_stdout) {
  const RenderOptions page{.verbosity = options.verbosity, .as_list = as_list, .source_root = options.source_root};
  if (!options.output.empty()) write_file(options.output, render(reports, options.format, page));
  for (const auto& report : options.reports) write_file(report.file, render(reports, report.format, page));
  if (options.format == Format::github) append_step_summary(reports, page);
  if (!options.output.empty() || to_stdout == Stdout::left_out) return;
  RenderOptions terminal = page;
  terminal.color = use_color(options.color);
  terminal.width = terminal_width();
  terminal.quiet = options.quiet;
  write_stdout(render(reports, options.format, terminal));
}

}  // namespace compatcheck::cli

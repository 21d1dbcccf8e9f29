#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "cli/checked_models.h"
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

std::vector<Report> read_saved(const std::string& file) {
  const std::string text = contents(file);
  try {
    return read_reports(text);
  } catch (const ModelError& error) {
    throw ModelError(display_name(file) + ": " + error.what());
  }
}

// Those of several files. What is the same in two is there once; of two that contradict each other one would be counted wrongly.
class Merged {
 public:
  void add(Report report, const std::string& file) {
    const std::string content = render(report, Format::jsonl);
    auto& known = known_[report.model.path];
    for (const Known& one : known) {
      if (one.content == content) return;
      if (one.opset != opset_of(report) && one.opset && !report.error) continue;
      throw UsageError(one.file + " and " + file + " hold different reports of " + report.model.path +
                       (report.error || !one.opset ? "" : " at opset " + std::to_string(report.opset)) +
                       "; leave out the one that no longer holds");
    }
    known.push_back({opset_of(report), content, file});
    reports.push_back(std::move(report));
  }

  std::vector<Report> reports;

 private:
  struct Known {
    std::optional<int> opset;  // none: it couldn't be checked, at whichever
    std::string content, file;
  };
  static std::optional<int> opset_of(const Report& report) { return report.error ? std::nullopt : std::optional(report.opset); }

  std::map<std::string, std::vector<Known>> known_;  // by model
};

Format format_of_output(const Options& options) {
  const std::string file = options.output.string();
  if (file.empty() || file == "-" || is_given(options, "--format")) return options.format;
  if (const auto format = format_by_ending(file)) return *format;
  throw UsageError("--output " + file + ": the ending names no format; name it with --format");
}

}  // namespace

int run_render(const Options& options) {
  if (options.positional.empty())
    throw UsageError("which report? usage: compatcheck render REPORT.json... --format FORMAT (--help lists the options)");
  Options asked = options;
  asked.format = format_of_output(options);
  asked = with_stdout(std::move(asked));
  check_report_files(asked, options.positional, "the report to render");
  Merged merged;
  for (const auto& file : options.positional)
    for (Report& report : read_saved(file)) merged.add(std::move(report), display_name(file));
  write_reports(merged.reports, asked, merged.reports.size() > 1);
  return exit_passed;
}

}  // namespace compatcheck::cli

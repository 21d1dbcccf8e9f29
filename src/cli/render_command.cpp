#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>

#include "cli/checked_models.h"
#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/read_model.h"
#include "cli/report_output.h"
#include "cli/terminal.h"

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

// The reports of several files. Equal reports are kept once; contradicting ones are an error, because one of them would be
// counted wrongly.
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

  std::map<std::string, std::vector<Known>> known_;  // keyed by model
};

// A page of very many reports is made while they are read, because together they would fill the memory. None: there are fewer.
class LongPage {
 public:
  explicit LongPage(const std::vector<std::string>& files) {
    for (const auto& file : files) {
      const std::size_t lines = file == "-" ? 0 : lines_in(file);
      all_lines_ = all_lines_ && lines > 0;
      lines_ += lines;
    }
  }
  bool is_needed() const { return all_lines_ && lines_ > most_drawn; }

  std::string page(const std::vector<std::string>& files) {
    std::vector<std::string> rows;
    for (const auto& file : files) rows.push_back(rows_of(file));
    return page_of_rows(rows);
  }

 private:
  // 0 for a file that isn't JSON lines: other reports are indented.
  static std::size_t lines_in(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    std::string line;
    if (!std::getline(stream, line) || !line.starts_with("{\"")) return 0;
    std::size_t lines = 1;
    while (std::getline(stream, line)) ++lines;
    return lines;
  }

  std::string rows_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    std::string rows, line;
    for (std::size_t number = 1; std::getline(stream, line); ++number) {
      if (line.empty()) continue;
      try {
        for (const Report& report : read_reports(line))
          if (is_new(report, line, file)) rows += page_rows({&report, 1});
      } catch (const ModelError& error) {
        throw ModelError(file + ": line " + std::to_string(number) + ": " + error.what());
      }
    }
    return rows;
  }

  // As Merged has it.
  bool is_new(const Report& report, const std::string& line, const std::string& file) {
    const std::string key = report.model.path + '\0' + (report.error ? "" : std::to_string(report.opset));
    const auto [known, fresh] = known_.try_emplace(key, std::hash<std::string>{}(line));
    if (fresh || known->second == std::hash<std::string>{}(line)) return fresh;
    throw UsageError(file + " and an earlier line or file hold different reports of " + report.model.path +
                     "; leave out the one that no longer holds");
  }

  bool all_lines_ = true;
  std::size_t lines_ = 0;
  std::unordered_map<std::string, std::size_t> known_;
};

// As scans name the files of reports: part-00000.jsonl.
bool is_part(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  return file.extension() == ".jsonl" && stem.starts_with("part-") && stem.size() >= 10 &&
         stem.find_first_not_of("0123456789", 5) == std::string::npos;
}

// The reports of a scan's folder.
std::vector<std::string> report_files(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  for (const auto& word : words) {
    std::error_code error;
    const std::filesystem::path folder(word);
    if (!std::filesystem::exists(folder / "run" / "settings.json", error) &&
        !std::filesystem::exists(folder / "totals.json", error)) {
      files.push_back(word);
      continue;
    }
    if (!std::filesystem::exists(folder / "totals.json", error))
      throw ModelError(word + ": the scan in this folder isn't complete; compatcheck scan --resume goes on with it");
    std::vector<std::string> parts;
    for (std::filesystem::directory_iterator entry(folder / "reports", error), end; !error && entry != end;
         entry.increment(error))
      if (is_part(entry->path())) parts.push_back(entry->path().string());
    if (parts.empty()) throw ModelError(word + ": the scan in this folder has no reports");
    std::ranges::sort(parts, {}, [](const std::string& part) { return std::pair(part.size(), part); });
    std::ranges::move(parts, std::back_inserter(files));
  }
  return files;
}

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
  Options settings = options;
  settings.format = format_of_output(options);
  settings = with_stdout(std::move(settings));
  const std::vector<std::string> files = report_files(options.positional);
  check_report_files(settings, files, "the report to render");
  if (settings.format == Format::html && settings.reports.empty())
    if (LongPage page(files); page.is_needed()) {
      const std::string text = page.page(files);
      settings.output.empty() ? write_stdout(text) : write_file(settings.output, text);
      return exit_passed;
    }
  Merged merged;
  for (const auto& file : files)
    for (Report& report : read_saved(file)) merged.add(std::move(report), display_name(file));
  write_reports(merged.reports, settings, merged.reports.size() > 1);
  return exit_passed;
}

}  // namespace compatcheck::cli

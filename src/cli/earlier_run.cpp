#include "cli/earlier_run.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "compatcheck/load.h"
#include "compatcheck/render.h"

namespace compatcheck::cli {
namespace {

// The report without suppressions and baseline: today's policy decides which findings count.
Report unjudged(Report report) {
  std::erase_if(report.findings, [](const Finding& finding) { return finding.id.starts_with("CC9"); });
  for (auto& finding : report.findings) {
    finding.suppressed.reset();
    finding.baseline.reset();
  }
  return report;
}

[[noreturn]] void cannot_resume(const std::filesystem::path& file, const std::string& why) {
  throw UsageError("--resume: " + file.string() + ": " + why);
}

}  // namespace

EarlierRun::EarlierRun(const std::filesystem::path& file) : partial_(file.string() + ".partial") {
  read(file);
  read(partial_);
  stream_.open(partial_, std::ios::binary | std::ios::app);
  if (!stream_) cannot_resume(partial_, std::string("can't be written: ") + std::strerror(errno));
}

void EarlierRun::read(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return;
  std::ifstream stream(file, std::ios::binary);
  std::uintmax_t whole = 0;  // bytes up to the end of the last line that is whole
  for (std::string line; std::getline(stream, line);) {
    if (stream.eof()) break;  // cut off as it was written
    whole += line.size() + 1;
    if (line.empty()) continue;
    try {
      for (const auto& report : read_reports(line)) lines_[report.model.path].push_back(line);
    } catch (const ModelError& wrong) {
      cannot_resume(file, wrong.what());
    }
  }
  if (file == partial_) std::filesystem::resize_file(file, whole, error);
  if (error) cannot_resume(file, error.message());
}

std::optional<std::vector<Report>> EarlierRun::find(const std::string& model, const std::vector<int>& opsets,
                                                    const std::string& settings) const {
  const auto found = lines_.find(model);
  if (found == lines_.end()) return std::nullopt;
  std::vector<Report> candidates, reports;
  for (const auto& line : found->second)
    for (auto& report : read_reports(line))
      if (!report.error && report.settings == settings) candidates.push_back(std::move(report));
  for (const int opset : opsets) {
    const auto last =
        std::find_if(candidates.rbegin(), candidates.rend(), [&](const Report& each) { return each.opset == opset; });
    if (last == candidates.rend()) return std::nullopt;
    reports.push_back(unjudged(*last));
  }
  try {
    if (reports.empty() || identity_of(model) != reports.front().model.identity) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // the check reports what is wrong with it
  }
  return reports;
}

void EarlierRun::add(std::span<const Report> reports) {
  stream_ << render(reports, Format::jsonl) << std::flush;
  if (!stream_) cannot_resume(partial_, std::string("can't be written: ") + std::strerror(errno));
}

void EarlierRun::finish() {
  stream_.close();
  std::error_code error;
  std::filesystem::remove(partial_, error);
}

}  // namespace compatcheck::cli

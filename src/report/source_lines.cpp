#include "report/source_lines.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "report/source_files.h"
#include "report/style.h"

namespace compatcheck::report {
namespace {

constexpr int around = 2;                    // lines before and after
constexpr std::size_t widest = 400;          // letters of a line
constexpr std::uintmax_t largest = 8 << 20;  // bytes of a file: beyond it is no source that a person wrote

using Lines = std::map<std::string, std::set<int>>;

Lines named_lines(std::span<const Report> reports) {
  Lines named;
  for (const auto& report : reports)
    for (const auto& finding : report.findings)
      for (const auto& site : finding.sites)
        if (!site.file.empty() && site.line > 0) named[site.file].insert(site.line);
  return named;
}

// A link may lead out of the root.
bool is_below(const std::filesystem::path& file, const std::filesystem::path& root) {
  std::error_code error;
  const auto real_root = std::filesystem::canonical(root, error);
  if (error) return false;
  const auto real = std::filesystem::canonical(file, error);
  return !error && std::mismatch(real_root.begin(), real_root.end(), real.begin(), real.end()).first == real_root.end();
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::file_size(file, error) > largest || error) return {};
  std::ifstream stream(file, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<SourceBlock> blocks(const std::vector<std::string>& lines, const std::set<int>& named) {
  std::vector<SourceBlock> list;
  const int end = static_cast<int>(lines.size());
  int last_line = 0;  // lines up to here are in a block
  for (const int line : named) {
    if (line > end) break;
    const int first = std::max(1, line - around), last = line > end - around ? end : line + around;
    if (list.empty() || first > last_line + 1) list.push_back({first, {}});
    for (int at = std::max(first, last_line + 1); at <= last; ++at)
      list.back().lines.push_back(fit(lines[static_cast<std::size_t>(at - 1)], widest));
    last_line = std::max(last_line, last);
  }
  return list;
}

}  // namespace

std::map<std::string, std::vector<SourceBlock>> source_lines(std::span<const Report> reports, const std::filesystem::path& root) {
  std::map<std::string, std::vector<SourceBlock>> found;
  SourceFiles files(root);
  for (const auto& [file, named] : named_lines(reports)) {
    const auto place = files.find(file);
    if (!place || !is_below(root / *place, root)) continue;
    if (auto list = blocks(lines_of(root / *place), named); !list.empty()) found.emplace(file, std::move(list));
  }
  return found;
}

}  // namespace compatcheck::report

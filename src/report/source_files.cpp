#include "report/source_files.h"

#include <algorithm>
#include <vector>

namespace compatcheck::report {
namespace {

std::optional<std::string> search(const std::filesystem::path& root, const std::string& file) {
  std::vector<std::filesystem::path> parts;
  for (const auto& part : std::filesystem::path(file).lexically_normal().relative_path()) parts.push_back(part);
  if (parts.empty() || std::ranges::find(parts, "..") != parts.end()) return std::nullopt;  // must not leave the root
  for (auto first = parts.begin(); first != parts.end(); ++first) {
    std::filesystem::path end;
    for (auto part = first; part != parts.end(); ++part) end /= *part;
    std::error_code error;
    if (std::filesystem::is_regular_file(root / end, error)) return end.generic_string();
  }
  return std::nullopt;
}

}  // namespace

SourceFiles::SourceFiles(std::filesystem::path root) : root_(std::move(root)) {
  std::error_code error;
  working_ = std::filesystem::current_path(error);
}

std::optional<std::string> SourceFiles::find(const std::string& file) {
  if (root_.empty() || file.empty() || file.find('\0') != std::string::npos) return std::nullopt;
  const auto [known, fresh] = known_.try_emplace(file);
  if (fresh) known->second = search(root_, file);
  return known->second;
}

SourceFiles::Place SourceFiles::place(const Report& report, const Site* site) {
  if (site)
    if (auto found = find(site->file)) return {*std::move(found), std::max(site->line, 1)};
  const std::string& model = report.model.path;
  const std::string below = working_.string() + "/";
  if (working_.has_relative_path() && model.starts_with(below)) return {model.substr(below.size()), 1};
  return {model.starts_with("./") ? model.substr(2) : model, 1};
}

}  // namespace compatcheck::report

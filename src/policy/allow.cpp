#include "policy/allow.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

#include "analysis/boundary.h"
#include "engines/targets.h"

namespace compatcheck::policy {
namespace {

// "models/*.pt" is of the whole path, "*.pt" of the file's name.
bool is_model(const std::string& pattern, const std::string& path) {
  const std::filesystem::path plain = std::filesystem::path(path).lexically_normal();
  if (pattern.find('/') == std::string::npos) return matches(pattern, plain.filename().string());
  return matches(pattern, path) || matches(pattern, plain.string());
}

bool is_target(const std::string& allowed, const std::string& target) {
  return allowed.empty() || engines::matches_target(target, allowed);
}

// Beyond the set that begins at `at`: its `]` is none of the first letter's, nor of a class's, as in []a] and [[:alpha:]].
std::size_t after_set(const std::string& pattern, std::size_t at) {
  if (++at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^')) ++at;
  for (const std::size_t first = at; at < pattern.size(); ++at) {
    if (pattern[at] == ']' && at > first) return at + 1;
    const char kind = pattern[at] == '[' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    if (kind != ':' && kind != '.' && kind != '=') continue;
    at = pattern.find(std::string{kind, ']'}, at + 2);
    if (at == std::string::npos) break;
    ++at;
  }
  return std::string::npos;
}

}  // namespace

bool matches(const std::string& pattern, const std::string& text) {
  return pattern.empty() || fnmatch(pattern.c_str(), text.c_str(), FNM_NOESCAPE) == 0;
}

bool closes_sets(const std::string& pattern) {
  for (std::size_t at = pattern.find('['); at != std::string::npos; at = pattern.find('[', at))
    if (at = after_set(pattern, at); at == std::string::npos) return false;
  return true;
}

bool applies_to(const AllowEntry& entry, const Report& report) {
  if (report.error || (entry.opset && *entry.opset != report.opset)) return false;
  if (!entry.model.empty() && !is_model(entry.model, report.model.path)) return false;
  return entry.target.empty() ||
         std::ranges::any_of(report.targets, [&](const auto& each) { return is_target(entry.target, each.target); });
}

bool applies_to(const AllowEntry& entry, const Finding& finding) {
  if (!matches(entry.rule, finding.id) || (!entry.target.empty() && !is_target(entry.target, finding.target.value_or(""))))
    return false;
  return matches(entry.op, finding.op) || (!finding.overload.empty() && matches(entry.op, finding.op + "." + finding.overload));
}

}  // namespace compatcheck::policy

namespace compatcheck {

void check_allowed_targets(const Configuration& configuration, const std::vector<std::string>& targets) {
  analysis::guarded("the allow-list", [&] {
    std::vector<std::string> own;  // profiles that aren't shipped
    for (const auto& target : targets)
      if (engines::names_file(target)) own.push_back(engines::profile_of(target).target());
    for (const auto& entry : configuration.allow) {
      const auto is_meant = [&](const std::string& target) { return policy::is_target(entry.target, target); };
      if (entry.target.empty() || !entry.profile.empty() || std::ranges::any_of(own, is_meant)) continue;
      try {
        engines::profile_of(entry.target);
      } catch (const UsageError& error) {
        throw UsageError(entry.source + ": " + error.what());
      }
    }
  });
}

}  // namespace compatcheck

#include "policy/allow.h"

#include <algorithm>
#include <filesystem>

#include <fnmatch.h>

namespace compatcheck::policy {
namespace {

// "models/*.pt" is of the whole path, "*.pt" of the file's name.
bool is_model(const std::string& pattern, const std::string& path) {
  const std::filesystem::path plain = std::filesystem::path(path).lexically_normal();
  if (matches(pattern, path) || matches(pattern, plain.string())) return true;
  return pattern.find('/') == std::string::npos && matches(pattern, plain.filename().string());
}

// "tensorrt" is any version of it.
bool is_target(const std::string& wanted, const std::string& target) {
  return wanted.empty() || wanted == target || wanted == target.substr(0, target.find('@'));
}

}  // namespace

bool matches(const std::string& pattern, const std::string& text) { return pattern.empty() || fnmatch(pattern.c_str(), text.c_str(), FNM_NOESCAPE) == 0; }

bool speaks_of(const AllowEntry& entry, const Report& report) {
  if (report.error || (entry.opset && *entry.opset != report.opset)) return false;
  if (!entry.model.empty() && !is_model(entry.model, report.model.path)) return false;
  return entry.target.empty() || std::ranges::any_of(report.targets, [&](const auto& each) { return is_target(entry.target, each.target); });
}

bool speaks_of(const AllowEntry& entry, const Finding& finding) {
  if (!matches(entry.rule, finding.id) || (!entry.target.empty() && !is_target(entry.target, finding.target.value_or("")))) return false;
  return matches(entry.op, finding.op) || (!finding.overload.empty() && matches(entry.op, finding.op + "." + finding.overload));
}

}  // namespace compatcheck::policy

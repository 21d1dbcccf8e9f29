#include "analysis/gate.h"

#include <algorithm>
#include <set>
#include <string>

#include "analysis/rules.h"

namespace compatcheck::analysis {
namespace {

// Findings that would keep convert from writing the model.
bool blocks(const Finding& finding) { return finding.severity == Severity::error; }

// A finding that is allowed lets the model pass; a rule that is switched off doesn't.
bool all_is_allowed(const Report& report) {
  bool any = false;
  for (const Finding& finding : report.findings) {
    if (!finding.suppressed && blocks(finding)) return false;
    any |= finding.suppressed && blocks(finding);
  }
  return any;
}

// Operators without a mapping, but for those that are allowed.
int counted_missing(const Report& report) {
  std::set<std::string> allowed, open;
  for (const Finding& finding : report.findings)
    if (is_missing(finding.id)) (finding.suppressed ? allowed : open).insert(finding.op + "." + finding.overload);
  return report.summary.missing - static_cast<int>(std::ranges::count_if(allowed, [&](const auto& name) { return !open.contains(name); }));
}

}  // namespace

bool violates(const Finding& finding, FailOn fail_on) {
  if (finding.suppressed) return false;
  switch (fail_on) {
    case FailOn::never: return false;
    case FailOn::unconvertible: return blocks(finding);
    case FailOn::missing: return is_missing(finding.id);
    case FailOn::conditional: return blocks(finding) || finding.id == "CC010";
    case FailOn::composite: return blocks(finding) || finding.id == "CC010" || finding.id == "CC004";
    case FailOn::warning: return finding.severity != Severity::note;
  }
  return false;
}

Gate judge(const Report& report, FailOn fail_on, std::optional<int> max_missing) {
  Gate gate{.passed = true, .fail_on = fail_on, .violations = 0};
  gate.violations = static_cast<int>(std::count_if(report.findings.begin(), report.findings.end(),
                                                   [&](const Finding& finding) { return violates(finding, fail_on); }));
  if (fail_on == FailOn::unconvertible && !report.convertible() && !all_is_allowed(report)) gate.violations = std::max(gate.violations, 1);
  if (max_missing && counted_missing(report) > *max_missing) gate.violations = std::max(gate.violations, 1);
  gate.passed = gate.violations == 0;
  return gate;
}

}  // namespace compatcheck::analysis

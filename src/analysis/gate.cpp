#include "analysis/gate.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/rules.h"
#include "compatcheck/check.h"

namespace compatcheck::analysis {
namespace {

// Findings that would keep convert from writing the model.
bool is_error(const Finding& finding) { return finding.severity == Severity::error; }

// A finding that is allowed lets the model pass; a rule that is switched off doesn't.
bool all_is_allowed(const Report& report) {
  bool any = false;
  for (const Finding& finding : report.findings) {
    if (!finding.suppressed && is_error(finding)) return false;
    any |= finding.suppressed && is_error(finding);
  }
  return any;
}

bool is_of_missing(const Finding& finding, const Report& report) {
  if (finding.target) return false;
  return is_missing(finding.id) ||
         (is_error(finding) && std::ranges::any_of(report.operators, [&](const OperatorSummary& op) {
            return op.operator_class == OperatorClass::missing && op.op == finding.op && op.overload == finding.overload;
          }));
}

// Operators without a mapping, except those whose obstacles are all allowed, whichever rule found them.
int counted_missing(const Report& report) {
  using Name = std::pair<std::string_view, std::string_view>;
  std::set<Name> allowed, open;
  for (const Finding& finding : report.findings)
    if (is_of_missing(finding, report)) (finding.suppressed ? allowed : open).insert({finding.op, finding.overload});
  return report.summary.missing - static_cast<int>(std::ranges::count_if(report.operators, [&](const OperatorSummary& op) {
           const Name name{op.op, op.overload};
           return op.operator_class == OperatorClass::missing && allowed.contains(name) && !open.contains(name);
         }));
}

bool has_too_many_missing(const Report& report, const Gate& gate) {
  return gate.max_missing && counted_missing(report) > *gate.max_missing;
}

}  // namespace

bool violates(const Finding& finding, FailOn fail_on) {
  if (finding.suppressed) return false;
  switch (fail_on) {
    case FailOn::never: return false;
    case FailOn::unconvertible: return is_error(finding);
    case FailOn::missing: return is_missing(finding.id);
    case FailOn::conditional: return is_error(finding) || finding.id == "CC010";
    case FailOn::composite: return is_error(finding) || finding.id == "CC010" || finding.id == "CC004";
    case FailOn::warning: return finding.severity != Severity::note;
  }
  return false;
}

bool fails(const Finding& finding, const Report& report) {
  const Gate& gate = report.gate;
  if (gate.passed || finding.suppressed) return false;
  if (violates(finding, gate.fail_on)) return true;
  return is_of_missing(finding, report) && has_too_many_missing(report, gate);
}

Gate judge(const Report& report, Gate gate) {
  gate.violations = static_cast<int>(std::count_if(report.findings.begin(), report.findings.end(),
                                                   [&](const Finding& finding) { return violates(finding, gate.fail_on); }));
  if (gate.fail_on == FailOn::unconvertible && !report.convertible() && !all_is_allowed(report))
    gate.violations = std::max(gate.violations, 1);
  if (has_too_many_missing(report, gate)) gate.violations = std::max(gate.violations, 1);
  gate.passed = gate.violations == 0;
  return gate;
}

int exit_code_of(std::span<const Report* const> reports) {
  struct Codes {
    int lowest = exit_unreadable, highest = exit_passed;
    bool one_is_enough = false;
  };
  std::map<std::string_view, Codes> models;
  int highest = exit_passed;
  for (const Report* report : reports) {
    if (report->error) {
      highest = std::max(highest, report->exit_code);
      continue;
    }
    Codes& codes = models[report->model.path];
    codes.lowest = std::min(codes.lowest, report->exit_code);
    codes.highest = std::max(codes.highest, report->exit_code);
    codes.one_is_enough |= report->gate.one_opset_is_enough;
  }
  for (const auto& [path, codes] : models) highest = std::max(highest, codes.one_is_enough ? codes.lowest : codes.highest);
  return highest;
}

}  // namespace compatcheck::analysis

namespace compatcheck {

int exit_code_of(std::span<const Report> reports) {
  std::vector<const Report*> pointers;
  for (const Report& report : reports) pointers.push_back(&report);
  return analysis::exit_code_of(pointers);
}

}  // namespace compatcheck

#include "verification/conclusion.h"

#include <algorithm>

namespace compatcheck::verification {
namespace {

bool is_of_frozen(const Finding& finding, const Verification& made) {
  return std::ranges::any_of(made.dimensions, [&](const NamedDimension& dimension) {
    return dimension.variation == NamedDimension::Variation::none && finding.message == dimension.reason;
  });
}

}  // namespace

bool violates(const Finding& finding, const Verification& made) {
  switch (made.fail_on) {
    case VerifyFailOn::error:
    case VerifyFailOn::conditional:
    case VerifyFailOn::composite: return finding.severity == Severity::error;
    case VerifyFailOn::mismatch:
    case VerifyFailOn::missing: return finding.severity == Severity::error && !is_of_frozen(finding, made);
    case VerifyFailOn::warning: return finding.severity != Severity::note;
    case VerifyFailOn::never: return false;
  }
  return true;
}

void conclude(Verification& made) {
  made.passed = !made.report &&
                std::ranges::none_of(made.findings, [](const Finding& finding) { return finding.severity == Severity::error; });
  made.violations =
      static_cast<int>(std::ranges::count_if(made.findings, [&](const Finding& finding) { return violates(finding, made); }));
  if (made.report && made.fail_on != VerifyFailOn::never) made.violations = std::max(made.violations, 1);
  if (made.report && made.fail_on == VerifyFailOn::never) made.report->gate = {.passed = true, .fail_on = FailOn::never};
  made.exit_code = made.violations > 0 ? exit_findings : exit_passed;
  if (made.report) made.report->exit_code = made.exit_code;
}

}  // namespace compatcheck::verification
